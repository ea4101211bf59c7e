import { KimchiError, messageOf } from '@kimchi/core'
import { HttpError, UnreachedError } from '../feed/http-error.ts'
import { createRestExchanges } from './exchanges.ts'
import type { Failure, RestAnswer, RestRequest } from './messages.ts'

// The entry of the child process; ccxt is loaded here and nowhere else.
const [, , userAgent = ''] = process.argv
const exchanges = createRestExchanges(userAgent, Date.now)

process.on('message', (request: RestRequest) => {
  void answer(request).then(reply => process.send?.(reply))
})
// The parent is gone or has had enough; nothing here needs saving.
process.on('disconnect', () => process.exit(0))
// Ctrl-C reaches the whole process group; the parent decides when the child ends.
process.on('SIGINT', () => {})

async function answer({ id, base, ...question }: RestRequest): Promise<RestAnswer> {
  try {
    const result =
      question.kind === 'listing'
        ? await exchanges.listing(base, question.exchange)
        : await exchanges.candlePage(base, question)
    return { id, ok: true, result }
  } catch (error) {
    return { id, ok: false, failure: toFailure(error) }
  }
}

function toFailure(error: unknown): Failure {
  const code = error instanceof KimchiError ? error.code : 'KIMCHI_ERR_REST'
  const message = messageOf(error)
  if (error instanceof UnreachedError) {
    return { code, message, unreached: error.isUnknownName ? 'name' : 'host' }
  }
  const refused = error instanceof HttpError ? error : undefined
  return { code, message, status: refused?.status, retryAfterMs: refused?.retryAfterMs }
}
