import { type EpochMs, formatTimestamp, MINUTE_MS, type Milliseconds, minuteStart } from '@kimchi/core'
import type { Door, FeedStatus } from '@kimchi/feeds'
import type { Reason } from '@kimchi/runtime'
import { type Held, mayBeAllowed } from './coins/coins-without-rows.ts'
import type { IngesterStatus } from './status.ts'
import { nameSome, summarise } from './status-texts.ts'

/** When the list of trading markets is older than this, a halt may go unnoticed. */
const MAX_STATUS_AGE_MS: Milliseconds = 300_000

/** When no minute has turned for this long, the minute loop is stuck. */
const MAX_MINUTE_AGE_MS: Milliseconds = 180_000

/** A market whose frames can't be read for this long is named. */
const UNREADABLE_AFTER_MS: Milliseconds = 2 * MINUTE_MS

/** Why this ingester does not work fully right now; empty when it does. */
export function notReadyReasons(status: IngesterStatus): Reason[] {
  const { at, queue } = status
  const { problem } = status.catalogue
  const reasons: Reason[] = []
  const add = (reason: string, text: string) => reasons.push({ reason, text })
  const held = status.doors.flatMap(({ rest }) => heldTexts(rest))
  const because = [problem ?? [], held].flat().join('; ')
  if (status.feeds.length === 0) add('no-listings', `listings not loaded yet${because && `: ${because}`}`)
  for (const feed of status.feeds) {
    const { exchange, state, base, lastDataAt, statusAt } = feed
    if (state !== 'up') {
      const until = base.held && ` until ${new Date(base.held.until).toISOString()}`
      add(`${exchange}-data`, `${exchange}: no data (${state}${until ?? ''})${errorSince(feed, lastDataAt)}`)
    } else if (at - statusAt > MAX_STATUS_AGE_MS) {
      const age = `${Math.floor((at - statusAt) / MINUTE_MS)} minutes`
      const waits = held.filter(text => text.startsWith(`${exchange} `)).map(text => `; ${text}`)
      const text = `${exchange}: which markets trade has not been known for ${age}${errorSince(feed, statusAt)}`
      add('trading-status', `${text}${waits.join('')}`)
    }
  }
  if (queue.problem !== undefined) {
    add(
      queue.isRefused ? 'redis-refuses' : 'redis',
      `${queue.waiting} minutes wait to be written: ${queue.problem}`,
    )
  }
  for (const { market, count, minutes } of unreadableOf(status)) {
    const text = `${market}: its price is unknown, ${count} frames in ${minutes} minutes can't be read or placed in time`
    add('unreadable-market', text)
  }
  for (const symbol of queue.damaged) {
    const text = `${symbol} is not stored: one of its keys in Redis is of a wrong type, kp_check names it`
    add('damaged-key', text)
  }
  const sample = sampleReason(status)
  return sample === undefined ? reasons : [...reasons, sample]
}

/** The markets whose frames could not be read or placed in time for two minutes, up to now. */
function unreadableOf({ at, feeds }: Pick<IngesterStatus, 'at' | 'feeds'>) {
  return feeds
    .flatMap(({ missed }) => missed)
    .filter(({ since, lastAt, isOver }) => {
      const until = isOver ? lastAt : at
      return until - since >= UNREADABLE_AFTER_MS && at - until < UNREADABLE_AFTER_MS
    })
    .map(({ market, count, since }) => ({ market, count, minutes: Math.floor((at - since) / MINUTE_MS) }))
}

function sampleReason({ at, minutes: { last }, feeds, quarantine }: IngesterStatus) {
  if (last === undefined) return { reason: 'no-minute', text: 'no minute has turned yet' }
  const { minute } = last
  if (at - minuteStart(minute) > MAX_MINUTE_AGE_MS) {
    return { reason: 'no-minute', text: `no minute has turned since ${formatTimestamp(minute)}` }
  }
  if (last.samples.length > 0 || (feeds.length > 0 && quarantine.tracked === 0)) return undefined
  return { reason: 'no-sample', text: `no sample at ${formatTimestamp(minute)}: ${summarise(last.gaps)}` }
}

/** What an operator should know although the ingester works fully, one sentence each. */
export function notesOf({ doors, feeds, heldBack, quarantine, backfill, mending }: IngesterStatus): string[] {
  const bases = doors.flatMap(({ stream, rest }) => [stream, rest])
  const others = bases.filter(({ index }) => index > 0)
  return [
    ...(mending.problem === undefined ? [] : [`day rows are not checked: ${mending.problem}`]),
    ...others.map(({ exchange, of, inUse, left }) => {
      const reasons = left.map(({ base, reason }) => `${base} (${reason})`).join(', ')
      return `${exchange} ${of}: ${inUse} is in use instead of ${reasons || 'the first address'}`
    }),
    ...doors.flatMap(({ rest }) => heldTexts(rest)),
    // While a feed is up its next connection may be refused, and with it a changed list.
    ...feeds.flatMap(({ state, base }) => (state === 'up' ? heldTexts(base) : [])),
    ...nameSome(
      heldBack,
      held => noteOf(held, quarantine.allowed),
      more => `${more} more coins are not published, kimchi_ingester_held_back_coins counts them by reason`,
    ),
    ...backfill.unreadable.reasons.map(reason => `minutes stay open: ${reason}`),
  ]
}

function noteOf(held: Held, allowed: readonly string[]): string {
  const { symbol, reason, text } = held
  if (reason === 'rate') return text
  const allow = [...new Set([...allowed, symbol])].join(',')
  const remedy = mayBeAllowed(held) ? `; if they are one coin, ALLOW=${allow}` : ''
  return `${symbol} is not published: ${text}${remedy}`
}

/** Why all requests of one way to an exchange wait, and until when. */
function heldTexts({ exchange, of, waiting, held }: ReturnType<Door['status']>['rest']): string[] {
  if (held === undefined) return []
  const until = new Date(held.until).toISOString()
  return [`${exchange} ${of}: ${waiting} requests wait until ${until}: ${held.reason}`]
}

/** The last error as the end of a sentence; empty when all has been well since. */
function errorSince({ lastError }: FeedStatus, wellAt: EpochMs | undefined): string {
  return lastError !== undefined && lastError.at >= (wellAt ?? 0) ? `: ${lastError.message}` : ''
}
