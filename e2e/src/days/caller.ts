import { createHash } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import type { Draws } from '../seeded-random.ts'
import type { Oracle } from './oracle.ts'
import { COINS, type DayReplica } from './service.ts'

const DECODERS = { identity: (coded: Buffer) => coded, gzip: gunzipSync, br: brotliDecompressSync }
type Coding = keyof typeof DECODERS
const CODINGS = Object.keys(DECODERS) as Coding[]

/** From this many tags and texts on those of before are forgotten. */
const MAX_KNOWN = 2_000

/** What an answer has only with a body, besides `content-length`. */
const OF_BODY = /^content-|^last-modified$|^x-content-type/

/** Asks replicas by their real routes, and judges what an answer says about itself: docs/callers.md. */
export class Caller {
  readonly #draws: Draws
  readonly #oracle: Pick<Oracle, 'find' | 'hasListed'>
  readonly #rankOf: (symbol: string) => number | string
  /** The text's hash of each tag, and the tag of each hash: every replica has the same. */
  readonly #known = new Map<string, string>()
  /** The tag that was got last, by path and coding. */
  readonly #lastTags = new Map<string, string>()
  readonly #answered = new Set<string>()

  /** @param isAll whether the coins are all there are, not those of a list */
  constructor(draws: Draws, isAll: boolean, oracle: Pick<Oracle, 'find' | 'hasListed'>) {
    this.#draws = draws
    this.#oracle = oracle
    this.#rankOf = symbol => (isAll ? symbol.replace(/^BTC$/, '') : COINS.indexOf(symbol))
  }

  /** Asks for the list, or a coin's days, where that needs no wait of the replica's clock. */
  async ask({ documents, host, app }: DayReplica): Promise<void> {
    const symbol = this.#draws.of(['', this.#draws.of(COINS)])
    const days = this.#draws.of([1, 7, 365])
    const found = symbol === '' ? documents.live() : documents.history(symbol, days)
    if (found === undefined && documents.status().problem === undefined) return
    const url = `/api/v1/kimchi-premium${symbol && `/${symbol}/daily?days=${days}`}`
    const accepted = this.#draws.of(CODINGS)
    const get = async (method: 'GET' | 'HEAD', more = {}) => {
      const asked = { 'accept-encoding': accepted, ...more }
      const { statusCode, headers, rawPayload } = await app.inject({ method, url, headers: asked })
      // By the machine's clock.
      const { date: _, ...judged } = headers
      return { status: statusCode, headers: judged, body: rawPayload }
    }
    const { status, headers, body } = await get('GET')
    const at = new Date(host.world.now).toISOString().slice(0, 19)
    const demand = (isRight: boolean, what: string) => {
      const shown = JSON.stringify({ status, ...headers })
      if (!isRight) this.#oracle.find(at, `${host.name} answered ${url}, ${accepted}, ${what}: ${shown}`)
    }
    const hasAnswered = this.#answered.has(`${host.name} ${url}`)
    const isNone = status === 503 || (status === 404 && !this.#oracle.hasListed(symbol))
    if (status !== 200) return demand(isNone && !hasAnswered, 'not with 200')
    this.#answered.add(`${host.name} ${url}`)

    const { etag, vary, 'cache-control': cached, 'content-encoding': coding = 'identity' } = headers
    // A history of a number of days that few ask for is not compressed.
    demand(coding === accepted || (days === 1 && symbol !== ''), 'in another coding')
    demand(headers['content-length'] === String(body.length), 'of another length')
    demand(vary === 'Accept-Encoding' && headers['access-control-allow-origin'] === '*', 'for one caller')
    const text = DECODERS[coding as Coding](body).toString()
    const [, tag = '', suffix = ''] = /^"([\w-]{22}(?:-\d+)?)(?:-(br|gzip))?"$/.exec(String(etag)) ?? []
    demand(suffix === (coding === 'identity' ? '' : coding), 'by the tag of another coding')
    const isWhole = symbol === '' || days === 365
    demand(this.#isPair(tag, createHash('sha256').update(text).digest('hex'), isWhole), 'with another text')

    const { data, count, updated_at } = JSON.parse(text)
    const ranks = data.map((row: Record<string, string>) => row.date ?? this.#rankOf(row.symbol ?? ''))
    const isOrdered = ranks.every((rank: string, i: number) => i === 0 || ranks[i - 1] < rank)
    demand(isOrdered, `in the order ${ranks}`)
    demand(count === data.length && (symbol === '' || count <= days), `with ${data.length} rows`)
    const newestAt = Date.parse(String(headers['last-modified']))
    demand(symbol !== '' || newestAt === Date.parse(`${updated_at}Z`), `of ${updated_at}`)
    const left = newestAt / 1_000 + 63 - host.now() / 1_000
    const maxAge = left < -10 ? 5 : Math.min(63, Math.max(1, Math.ceil(left)))
    demand(String(cached).startsWith(`public, max-age=${maxAge},`), `not for ${maxAge} s`)

    const head = await get('HEAD')
    // Node leaves out the body, which is there without a socket.
    const isSame = head.status === 200 && isDeepStrictEqual(head.headers, headers)
    demand(isSame, `HEAD with ${head.status} ${JSON.stringify(head.headers)}`)
    const key = `${url} ${accepted}`
    const sent = this.#draws.of([String(etag), this.#lastTags.get(key) ?? '"none"'])
    this.#lastTags.set(key, String(etag))
    const again = await get('GET', { 'if-none-match': sent })
    const unchanged = Object.fromEntries(Object.entries(headers).filter(([name]) => !OF_BODY.test(name)))
    const expected =
      sent === etag ? { status: 304, headers: unchanged, body: Buffer.of() } : { status, headers, body }
    const isRight = isDeepStrictEqual(again, expected)
    demand(isRight, `and to ${sent} with ${again.status} ${JSON.stringify(again.headers)}`)
  }

  /** @param isWhole whether the tag stands for nothing but this text */
  #isPair(tag: string, hash: string, isWhole: boolean): boolean {
    if (this.#known.size > MAX_KNOWN) this.#known.clear()
    const isText = (this.#known.get(tag) ?? hash) === hash
    const is = isText && (!isWhole || (this.#known.get(hash) ?? tag) === tag)
    this.#known.set(tag, hash).set(hash, tag)
    return is
  }
}
