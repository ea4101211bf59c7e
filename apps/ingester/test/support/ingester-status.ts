import { minuteOf } from '@kimchi/core'
import type { IngesterStatus } from '../../src/status.ts'

export const NOW = Date.UTC(2026, 10, 20, 12)

/** An ingester that contributes, as far as its feeds go. @param changes to the feed of Binance */
export function statusWith(changes: object): IngesterStatus {
  const feed = {
    exchange: 'binance',
    state: 'up',
    lastDataAt: NOW - 200,
    watermark: NOW - 250,
    statusAt: NOW - 60_000,
    silences: 1,
    halted: ['SOLUSDT'],
    lateTicks: 0,
    missed: [],
    base: {
      exchange: 'binance',
      of: 'stream',
      inUse: 'wss://b',
      index: 1,
      left: [{ base: 'wss://a', reason: 'HTTP 451' }],
    },
  }
  const status = {
    at: NOW,
    catalogue: { missing: [], problem: undefined },
    quarantine: { tracked: 1, quarantined: [], allowed: [] },
    heldBack: [],
    doors: [
      {
        stream: { ...feed, ...changes }.base,
        rest: { exchange: 'binance', of: 'rest', inUse: 'https://b', index: 0, left: [] },
      },
    ],
    feeds: [{ ...feed, ...changes }],
    minutes: { last: { minute: minuteOf(NOW), gaps: [], samples: [{}] }, gaps: {} },
    queue: { waiting: 0, problem: undefined, damaged: [], totals: {} },
    backfill: {
      troubled: [],
      unreadable: { pages: { upbit: 2, binance: 0 }, reasons: [] },
    },
    mending: { mended: 0, problem: undefined },
  }
  return status as unknown as IngesterStatus
}
