import {
  type Clock,
  type Coin,
  KimchiError,
  LatestTicks,
  minuteStart,
  parseTimestamp,
  Witness,
} from '@kimchi/core'
import { openFeeds, openRestChild } from '@kimchi/feeds'
import { type Logger, openOpsServer, type RunningApp } from '@kimchi/runtime'
import { type Board, connectRedis, openMinuteQueue, openReader, openWriter } from '@kimchi/store'
import type { Config } from './config.ts'
import { countMinute, type IngesterState, newState, notReadyReasons, statusFields } from './health.ts'
import { ingest } from './ingest.ts'
import { keepCoins } from './keep-coins.ts'
import { createMetrics } from './metrics.ts'
