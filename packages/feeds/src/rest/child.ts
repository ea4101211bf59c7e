import { KimchiError, messageOf } from '@kimchi/core'
import { HttpError } from '../feed/http-error.ts'
import { createRestExchanges } from './exchanges.ts'
import type { Failure, RestAnswer, RestRequest } from './messages.ts'

// The entry of the child process; ccxt is loaded here and nowhere else. Arguments: the two REST addresses,
// and the speed.
const [, , upbitRestUrl = '', binanceRestUrl = '', speed = '1'] = process.argv
const exchanges = createRestExchanges(upbitRestUrl, binanceRestUrl, Date.now, Number(speed))

process.on('message', (request: RestRequest) => {
  void answer(request).then(reply => process.send?.(reply))
})
// The parent is gone or has had enough; nothing here needs saving.
process.on('disconnect', () => process.exit(0))
// Ctrl-C reaches the whole process group; the parent decides when the child ends.
process.on('SIGINT', () => {})

async function answer(request: RestRequest): Promise<RestAnswer> {
  try {
    const result =
      request.kind === 'listings' ? await exchanges.listings() : await exchanges.candlePage(request)
    return { id: request.id, ok: true, result }
  } catch (error) {
    return { id: request.id, ok: false, failure: toFailure(error) }
  }
}

function toFailure(error: unknown): Failure {
  const code = error instanceof KimchiError ? error.code : 'KIMCHI_ERR_REST'
  const refused = error instanceof HttpError ? error : undefined
  return { code, message: messageOf(error), status: refused?.status, retryAfterMs: refused?.retryAfterMs }
}
