import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { join } from 'node:path'
import { createFolder, type Teardown } from '@kimchi/testkit'
import { type Engine, findFile, HEIGHT, startOwn } from './engine.ts'

const FIREFOX = findFile('/usr/bin/firefox-esr', '/usr/bin/firefox')

export const lacksFirefox = FIREFOX === undefined && 'no Firefox here (Debian: firefox-esr)'

/** Opens Firefox without a window. Debian has no geckodriver: what that sends to Firefox is sent here. */
export async function openFirefox(t: Teardown): Promise<Engine> {
  const profile = await createFolder(t)
  await writeFile(join(profile, 'user.js'), 'user_pref("marionette.port", 0);\n')
  const args = ['--marionette', '--headless', '--no-remote', '--profile', profile]
  const firefox = await startOwn(t, FIREFOX ?? '', args)
  const listening = await firefox.line(line => /Listening on port \d+/.test(line))
  const send = await openMarionette(t, Number(/\d+$/.exec(listening)?.[0]))
  await send('NewSession', {})
  return {
    open: url => send('Navigate', { url }),
    run: async <T>(script: string) => {
      const { value } = (await send('ExecuteScript', { script, args: [] })) as { value: T }
      return value
    },
    resize: width => send('SetWindowRect', { width, height: HEIGHT }),
  }
}

/** Messages are `length:[0, id, command, parameters]` and `length:[1, id, error, result]`. */
async function openMarionette(t: Teardown, port: number) {
  const socket = connect(port, '127.0.0.1')
  t.teardown(() => socket.destroy())
  await once(socket, 'connect')
  const waiting = new Map<number, (answer: { error: unknown; result: unknown }) => void>()
  let rest = Buffer.alloc(0)
  socket.on('data', (bytes: Buffer) => {
    rest = Buffer.concat([rest, bytes])
    for (;;) {
      const colon = rest.indexOf(':')
      const end = colon + 1 + Number(rest.subarray(0, Math.max(colon, 0)))
      if (colon < 0 || rest.length < end) return
      const message = JSON.parse(rest.toString('utf8', colon + 1, end))
      rest = rest.subarray(end)
      // The first one is a greeting.
      if (!Array.isArray(message)) continue
      const [, id, error, result] = message
      waiting.get(id)?.({ error, result })
    }
  })
  let count = 0
  return async (command: string, parameters: object): Promise<unknown> => {
    count += 1
    const id = count
    const text = JSON.stringify([0, id, `WebDriver:${command}`, parameters])
    const answered = new Promise<{ error: unknown; result: unknown }>(resolve => waiting.set(id, resolve))
    socket.write(`${Buffer.byteLength(text)}:${text}`)
    const { error, result } = await answered
    if (error !== null) throw new Error(`${command}: ${JSON.stringify(error)}`)
    return result
  }
}
