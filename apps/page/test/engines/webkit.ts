import { freePort } from '@kimchi/local-redis'
import { eventually, type Teardown } from '@kimchi/testkit'
import { type Engine, findFile, HEIGHT, startOwn } from './engine.ts'

const DRIVER = findFile('/usr/bin/WebKitWebDriver')
const DISPLAY = findFile('/usr/bin/Xvfb')
const LIBRARIES = { x64: 'x86_64', arm64: 'aarch64' }[process.arch as string]
const BROWSER = findFile(`/usr/lib/${LIBRARIES}-linux-gnu/webkit2gtk-4.1/MiniBrowser`)

export const lacksWebKit =
  !(DRIVER && DISPLAY && BROWSER) && 'no WebKitGTK here (Debian: webkit2gtk-driver, xvfb)'

/** Opens WebKitGTK's own small browser on a display that nobody sees. */
export async function openWebKit(t: Teardown): Promise<Engine> {
  const display = await startOwn(t, DISPLAY ?? '', ['-displayfd', '1', '-screen', '0', '1600x1200x24'])
  const number = await display.line(line => /^\d+$/.test(line))
  const port = await freePort()
  await startOwn(t, DRIVER ?? '', [`--port=${port}`], {
    DISPLAY: `:${number}`,
    WEBKIT_DISABLE_COMPOSITING_MODE: '1',
    WEBKIT_DISABLE_DMABUF_RENDERER: '1',
  })
  const ask = async <T>(method: string, path: string, body?: object) => {
    const answer = await fetch(`http://127.0.0.1:${port}/session${path}`, {
      method,
      ...(body && { body: JSON.stringify(body) }),
    })
    const { value } = (await answer.json()) as { value: T }
    if (!answer.ok) throw new Error(`${path}: ${JSON.stringify(value)}`)
    return value
  }
  const options = { binary: BROWSER, args: ['--automation'] }
  const capabilities = { alwaysMatch: { 'webkitgtk:browserOptions': options } }
  await eventually('the driver listens', () => fetch(`http://127.0.0.1:${port}/status`).catch(() => false))
  const { sessionId } = await ask<{ sessionId: string }>('POST', '', { capabilities })
  // Without it the browser would go on.
  t.teardown(() => ask('DELETE', `/${sessionId}`))
  return {
    open: url => ask('POST', `/${sessionId}/url`, { url }),
    run: script => ask('POST', `/${sessionId}/execute/sync`, { script, args: [] }),
    resize: width => ask('POST', `/${sessionId}/window/rect`, { width, height: HEIGHT }),
  }
}
