import { writeFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { messageOf } from '@kimchi/core'
import { openRestChild, type RestBases, userAgentOf } from '@kimchi/feeds'
import { systemClock } from '@kimchi/runtime'
import packageJson from '../../package.json' with { type: 'json' }
import { readConfig } from '../config.ts'
import { examine } from './examine.ts'
import { lineOf } from './finding.ts'
import { openRecorder } from './recorder.ts'

const silent = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} }

/** The REST child may wait for a minute's end. */
const LONGER_THAN_ALL_MS = 300_000

/** One line that is written over, where a person watches. */
function showProgress(text: string): void {
  if (process.stderr.isTTY) process.stderr.write(`\r\u001B[K${text}`)
}

try {
  const { values } = parseArgs({ options: { json: { type: 'string' }, record: { type: 'string' } } })
  const config = readConfig({ COINS: 'all', ...process.env })
  const userAgent = userAgentOf(packageJson.version, config.PROJECT_URL)
  const openRest = (bases: RestBases) =>
    openRestChild({ bases, userAgent, idleMs: LONGER_THAN_ALL_MS }, { log: silent })
  const recorder = openRecorder(values.record)
  const findings = await examine(
    { config, userAgent, recorder, onProgress: showProgress, openRest },
    { clock: systemClock, random: Math.random, log: silent },
  )
  await recorder.close()
  showProgress('')
  for (const finding of findings) process.stdout.write(`${lineOf(finding)}\n`)
  if (values.json !== undefined) writeFileSync(values.json, `${JSON.stringify(findings, null, 2)}\n`)
  process.exitCode = findings.some(({ outcome }) => outcome === 'FAIL') ? 1 : 0
} catch (thrown) {
  process.stderr.write(`${messageOf(thrown)}\n`)
  process.exitCode = 1
}
