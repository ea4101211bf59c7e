import { hostname } from 'node:os'
import { parseArgs } from 'node:util'
import { KimchiError, messageOf } from '@kimchi/core'
import { systemClock, withSecretFiles } from '@kimchi/runtime'
import { holderId } from '@kimchi/store'
import { SingleBar } from 'cli-progress'
import packageJson from '../../package.json' with { type: 'json' }
import { readConfig } from '../config.ts'
import type { Skipped } from './import-days.ts'
import { importHistory } from './import-history.ts'

/** A person watches: only what needs attention, in plain words, beside the bar. */
const plainLog = {
  debug: () => {},
  info: () => {},
  warn: (fields: object, message: string) => complain(fields, message),
  error: (fields: object, message: string) => complain(fields, message),
}

const ending = new AbortController()
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => ending.abort())

try {
  const skipped = await main()
  for (const { symbol, reason, days, from, to } of skipped) {
    process.stdout.write(
      `${symbol}: ${days} ${days === 1 ? 'day' : 'days'} not whole, ${from} to ${to}: ${reason}\n`,
    )
  }
  process.stdout.write(
    ending.signal.aborted ? 'Stopped; run it again to go on from here.\n' : 'History is complete.\n',
  )
} catch (thrown) {
  if (ending.signal.aborted) process.stdout.write('Stopped; run it again to go on from here.\n')
  else {
    process.stderr.write(`${thrown instanceof KimchiError ? `${thrown.code}: ` : ''}${messageOf(thrown)}\n`)
    process.exitCode = 1
  }
}

async function main(): Promise<readonly Skipped[]> {
  const { values } = parseArgs({
    options: { days: { type: 'string', default: '365' }, coins: { type: 'string' } },
  })
  const config = readConfig({
    ...withSecretFiles(process.env, ['REDIS_URL']),
    ...(values.coins === undefined ? {} : { COINS: values.coins }),
  })
  const bar = progressBar()
  try {
    return await importHistory(
      {
        config,
        days: readDays(values.days),
        id: holderId(hostname(), process.pid, Math.random),
        version: packageJson.version,
        onProgress: (done, total, symbol) => {
          if (!bar.isActive) bar.start(total, 0, { symbol })
          bar.update(done, { symbol })
        },
      },
      { clock: systemClock, random: Math.random, signal: ending.signal, log: plainLog },
    )
  } finally {
    if (bar.isActive) bar.stop()
  }
}

function complain(fields: object, message: string): void {
  process.stderr.write(`\n${message}${'reason' in fields ? `: ${fields.reason}` : ''}\n`)
}

function readDays(text: string): number {
  if (/^\d{1,4}$/.test(text) && Number(text) >= 1 && Number(text) <= 3_650) return Number(text)
  throw new KimchiError(
    'KIMCHI_ERR_CONFIG',
    `--days must be an integer from 1 to 3650, got: ${JSON.stringify(text)}`,
  )
}

/** A bar on a terminal; a line now and then in a log. */
function progressBar(): SingleBar {
  return new SingleBar({
    format: 'days of coins {bar} {percentage} %  {value}/{total}  {symbol}  {eta_formatted} left',
    noTTYOutput: true,
    notTTYSchedule: 5_000,
    stopOnComplete: false,
    // Ctrl-C is ours: the chunk under way is dropped, everything before it is written.
    gracefulExit: false,
  })
}
