import { spawn, spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { eventually, followProgram } from '@kimchi/testkit'
import t, { type Test } from 'tap'

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

const ROOT = fileURLToPath(new URL('../../..', import.meta.url))
const { PATH } = process.env

/** What run.mjs is to run: a program that writes a file when SIGTERM ends it. */
function untilTerm(t: Test) {
  const dir = t.testdir({
    'until-term.mjs': `
      setInterval(() => {}, 1_000)
      process.on('SIGHUP', () => console.log('SIGHUP has come'))
      process.on('SIGTERM', () => {
        fs.writeFileSync(import.meta.dirname + '/ended', '')
        process.exit(0)
      })
      console.log('started')
      import fs from 'node:fs'`,
  })
  return { dir, program: relative(ROOT, join(dir, 'until-term.mjs')) }
}

t.test('without a terminal, as under nohup, the end of one ends nothing; SIGTERM does', async t => {
  const child = spawn('nohup', [process.execPath, RUN, untilTerm(t).program], {
    env: { PATH },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const program = followProgram(child, 'run.mjs')
  t.teardown(() => program.end('SIGKILL'))
  await program.line(line => line === 'started')
  child.kill('SIGHUP')
  await program.line(line => line === 'SIGHUP has come')
  t.equal(await program.end('SIGTERM'), 0)
})

const { error } = spawnSync('script', ['--version'])
t.test('in a terminal its end is an end in order', { skip: error !== undefined && 'no script' }, async t => {
  const { dir, program } = untilTerm(t)
  const command = `exec '${process.execPath}' '${RUN}' '${program}'`
  const child = spawn('script', ['-qec', command, '/dev/null'], {
    env: { PATH },
    stdio: ['pipe', 'pipe', 'pipe'],
  })
  const terminal = followProgram(child, 'script')
  t.teardown(() => terminal.end('SIGKILL'))
  await terminal.line(line => line.startsWith('started'))
  await terminal.end('SIGKILL')
  await eventually('SIGTERM has ended it', () => existsSync(join(dir, 'ended')))
})
