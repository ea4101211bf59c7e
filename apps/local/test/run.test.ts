import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import t from 'tap'

const RUN = fileURLToPath(new URL('../run.mjs', import.meta.url))

/** Makes this Node look old. */
const OLD_NODE = `
  Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '18.20.8' } })
`

t.test('a Node that is too old gets one sentence, not a stack trace', async t => {
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    ['--import', `data:text/javascript,${encodeURIComponent(OLD_NODE)}`, RUN],
    { encoding: 'utf8' },
  )
  t.equal(status, 1)
  t.equal(stdout, '')
  t.equal(stderr, 'Node 20.19 or newer is needed, and this is Node 18.20.8: see https://nodejs.org\n')
})
