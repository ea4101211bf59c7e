import { parseArgs } from 'node:util'
import { withTeardown } from '@kimchi/testkit'
import { KINDS } from './days/plan.ts'
import { startDayServer } from './days/redis.ts'
import { type DayEvent, type DayReport, MOST_FINDINGS, runDay } from './days/run-day.ts'

const EVENTS_SHOWN = 20

const { values } = parseArgs({
  options: {
    days: { type: 'string', default: '1' },
    minutes: { type: 'string', default: '1440' },
    seed: { type: 'string', default: String(Math.floor(Date.now() / 1_000)) },
    /** When each day begins, as in `2026-11-30T22:30:00`; drawn without it. */
    start: { type: 'string' },
    /** Only these kinds of faults come, as in `halt,restart`. */
    kinds: { type: 'string' },
    /** Shows what happens from here on, as in `2026-11-30T02:31:00`. */
    from: { type: 'string' },
  },
})
const [days, minutes] = [Number(values.days), Number(values.minutes)]
const firstSeed = Number(values.seed)
const kinds = values.kinds?.split(',')
const unknown = kinds?.find(kind => KINDS[kind] === undefined)
if (unknown) throw new Error(`--kinds knows ${Object.keys(KINDS)}, not ${unknown}`)
const startAt = values.start === undefined ? undefined : Date.parse(`${values.start}Z`)
const showFrom = values.from === undefined ? Number.POSITIVE_INFINITY : Date.parse(`${values.from}Z`)

console.log(`${days} days of ${minutes} minutes, from seed ${firstSeed}`)
await withTeardown(async t => {
  const server = await startDayServer(t)
  const onEvent = (event: DayEvent) => event.at >= showFrom && console.log(shown(event))
  for (let seed = firstSeed; seed < firstSeed + days; seed++) {
    const onMinute = (minute: number) =>
      minute % 60 === 0 && process.stderr.write(`seed ${seed}: ${minute / 60} h\r`)
    const report = await runDay({ seed, minutes, startAt, kinds, server, onEvent, onMinute })
    for (const held of report.atDays) console.log(`seed ${seed}: a day's end: ${JSON.stringify(held)}`)
    console.log(lineOf(report))
    if (report.findings.length > 0) showFailure(report)
  }
})

function lineOf({ seed, digest, counts, realMs }: DayReport): string {
  const { lists, values, stored, commands } = counts
  const figures = `${stored} samples, ${lists} lists with ${values} values, ${commands} commands`
  const speed = Math.round((minutes * 60_000) / realMs)
  const share = `${Math.round((counts.live / counts.minutes) * 100)} % demanded live, ${counts.unlisted} unlisted`
  return `seed ${seed}: ${digest}, ${figures}, ${share}, ${speed} × real time`
}

/** What is wrong, what happened before it, and how to see it again. */
function showFailure({ seed, findings, events }: DayReport): void {
  process.exitCode = 1
  const [first] = findings
  for (const { minute, what } of findings.slice(0, MOST_FINDINGS)) console.log(`  WRONG ${minute} ${what}`)
  const at = first?.minute ? Date.parse(`${first.minute}Z`) : Number.POSITIVE_INFINITY
  for (const event of events.filter(event => event.at < at + 60_000).slice(-EVENTS_SHOWN))
    console.log(`  ${shown(event)}`)
  const asked = process.argv.slice(2).map(word => `'${word}'`)
  const from = Number.isFinite(at) ? ` --from ${new Date(at - 60_000).toISOString().slice(0, 19)}` : ''
  // The last of two counts.
  const again = `npm run days -- ${asked.join(' ')} --days 1 --seed ${seed}${from}`
  console.log(`  ${findings.length} findings; again: ${again}`)
}

function shown({ at, what }: DayEvent): string {
  return `${new Date(at).toISOString()} ${what.slice(0, 300)}`
}
