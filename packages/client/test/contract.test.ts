import { readFileSync } from 'node:fs'
import t, { type Test } from 'tap'
import type { CoinPremium, DailyPremium, History, LiveList } from '../src/index.ts'

/** The fields of a type, all of them, with their JSON types. */
type Fields<T> = { readonly [name in keyof T]-?: string }

/** The part of docs/openapi.json that is compared. */
interface Schema {
  readonly type?: string
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly items?: Schema
}

const document = readFileSync(new URL('../../../docs/openapi.json', import.meta.url), 'utf8')
const schemas: Readonly<Record<string, Schema>> = JSON.parse(document).components.schemas

/** Fails unless a schema requires exactly these fields, of these types. */
function compare(t: Test, schema: Schema | undefined, fields: Readonly<Record<string, string>>) {
  const { properties = {}, required = [] } = schema ?? {}
  const types = Object.entries(properties).map(([name, { type }]) => [name, type])
  t.strictSame(Object.fromEntries(types), fields)
  t.strictSame(new Set(required), new Set(Object.keys(fields)))
}

t.test('the types have the fields of docs/openapi.json', async t => {
  const list: Fields<LiveList> = {
    result: 'string',
    updated_at: 'string',
    count: 'integer',
    note: 'string',
    data: 'array',
  }
  const coin: Fields<CoinPremium> = {
    symbol: 'string',
    name: 'string',
    premium_pct: 'number',
    upbit_krw: 'number',
    binance_usdt: 'number',
    usdt_krw: 'number',
    snapshot_at: 'string',
  }
  const history: Fields<History> = {
    result: 'string',
    symbol: 'string',
    name: 'string',
    count: 'integer',
    data: 'array',
  }
  const day: Fields<DailyPremium> = {
    date: 'string',
    open_pct: 'number',
    high_pct: 'number',
    low_pct: 'number',
    close_pct: 'number',
    avg_pct: 'number',
    samples: 'integer',
  }
  compare(t, schemas.LiveList, list)
  compare(t, schemas.LiveList?.properties?.data?.items, coin)
  compare(t, schemas.History, history)
  compare(t, schemas.History?.properties?.data?.items, day)
})
