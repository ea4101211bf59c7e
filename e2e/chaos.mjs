#!/usr/bin/env node
/** Runs the tests of test/chaos in their long form: npm run chaos -- [--rounds 200] [--seed 1] [--only text] */
import { spawn } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { parseArgs } from 'node:util'

const option = (/** @type {string} */ fallback) =>
  /** @type {const} */ ({ type: 'string', default: fallback })
const options = { rounds: option('200'), seed: option('1'), only: option('') }
const { rounds, seed, only } = parseArgs({ options }).values
if (!(Number(rounds) > 0) || !Number.isInteger(Number(seed))) {
  console.error('usage: npm run chaos -- [--rounds 200] [--seed 1] [--only text]')
  process.exit(2)
}
const files = readdirSync(`${import.meta.dirname}/test/chaos`).map(name => `test/chaos/${name}`)
if (!files.some(file => readFileSync(`${import.meta.dirname}/${file}`, 'utf8').includes(only))) {
  console.error(`--only must be part of a test's title in e2e/test/chaos, got: ${JSON.stringify(only)}`)
  process.exit(2)
}
const env = { ...process.env, ROUNDS: rounds, SEED: seed, ONLY: only }
// A day is time enough.
const args = ['run-tests', '--jobs=1', '--timeout=86400', ...files]
spawn('npx', args, { cwd: import.meta.dirname, env, stdio: 'inherit' }).on('exit', code => {
  process.exitCode = code ?? 1
})
