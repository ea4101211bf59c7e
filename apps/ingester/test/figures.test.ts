import t from 'tap'
import { statusFields } from '../src/figures.ts'
import { NOW, statusWith } from './support/ingester-status.ts'

t.test('the hash shows the address in use, ages, the watermark, and what is halted', async t => {
  t.match(statusFields(statusWith({})), {
    binance_stream_base: 'wss://b',
    binance_data_age_ms: '200',
    binance_watermark_age_ms: '250',
    binance_silences: '1',
    binance_halted: 'SOLUSDT',
  })
})

t.test('the hash keeps an error that is over', async t => {
  const lastError = { message: 'no answer', at: NOW - 420_000 }
  const { binance_last_error } = statusFields(statusWith({ lastError }))
  t.equal(binance_last_error, 'no answer (2026-11-20T11:53:00.000Z)')
})
