import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import t from 'tap'

const RUN = fileURLToPath(new URL('../run.mjs', import.meta.url))

/** Makes this Node look old. */
const OLD_NODE = `
  Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '18.20.8' } })
`

t.test('a Node that is too old gets one sentence, not a stack trace', async t => {
  for (const command of ['demo', 'live', 'doctor', 'backfill']) {
    const { code, output, errors } = await new Promise<{ code: unknown; output: string; errors: string }>(
      resolve =>
        execFile(
          process.execPath,
          ['--import', `data:text/javascript,${encodeURIComponent(OLD_NODE)}`, RUN, command],
          (error, output, errors) => resolve({ code: error?.code, output, errors }),
        ),
    )
    t.equal(code, 1)
    t.equal(output, '')
    t.equal(errors, 'Node 20.19 or newer is needed, and this is Node 18.20.8: see https://nodejs.org\n')
  }
})
