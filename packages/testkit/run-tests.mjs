#!/usr/bin/env node
/**
 * Runs a workspace's tests by tap's settings, like `tap` itself, but in as many processes as it has jobs: to start
 * one for each file takes longer than most files run. Mocks of modules are left to `tap`.
 *   run-tests [test/one.test.ts ...]
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { TapConfig } from '@tapjs/config'

const RUN_FILES = fileURLToPath(new URL('run-files.mjs', import.meta.url))
const { values, positionals } = (await TapConfig.load()).parse()
const files = positionals.length > 0 ? positionals : testFiles('test')
const claims = mkdtempSync(join(tmpdir(), 'run-tests-'))
/** A test that takes longer fails in its process, unless it blocks it. */
const silentMs = (values.timeout + 10) * 1_000

const children = Array.from({ length: Math.min(values.jobs, files.length) }, startProcess)
for (const signal of ['SIGINT', 'SIGTERM'])
  process.once(signal, () => {
    for (const child of children) child.kill(signal)
  })
const passed = await Promise.all(children.map(hasPassed))
const missed = files.length - readdirSync(claims).length
rmSync(claims, { recursive: true })
if (missed > 0) console.log(`not ok - every file has run: ${missed} have not`)
if (missed > 0 || passed.includes(false)) process.exitCode = 1

function startProcess() {
  const shared = { TEST_FILES: files.join(' '), TEST_CLAIMS: claims }
  const env = { ...process.env, TAP: '1', TAP_TIMEOUT: values.timeout, ...shared }
  const args = ['--enable-source-maps', ...values['node-arg'], RUN_FILES]
  return spawn(process.execPath, args, { env, stdio: ['ignore', 'pipe', 'inherit'] })
}

/**
 * Prints what a process prints, at once where it is alone, else when it has ended. One that is silent for too long
 * is ended. @param {ReturnType<typeof startProcess>} child
 */
async function hasPassed(child) {
  const ended = once(child, 'close')
  /** @type {Buffer[]} */
  const held = []
  const kill = () => child.kill('SIGKILL')
  let silence = setTimeout(kill, silentMs)
  for await (const chunk of child.stdout) {
    clearTimeout(silence)
    silence = setTimeout(kill, silentMs)
    if (children.length > 1) held.push(chunk)
    else process.stdout.write(chunk)
  }
  const [code, signal] = await ended
  clearTimeout(silence)
  process.stdout.write(Buffer.concat(held))
  if (signal !== null) console.log(`not ok - a process of the tests was ended by ${signal}`)
  return code === 0
}

/** @param {string} folder */
function testFiles(folder) {
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' }).sort()
  return names.filter(name => name.endsWith('.test.ts')).map(name => join(folder, name))
}
