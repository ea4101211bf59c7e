import { KimchiError, messageOf } from '@kimchi/core'
import { RestExchanges } from './exchanges.ts'
import type { RestAnswer, RestRequest } from './messages.ts'

// The entry of the child process; ccxt is loaded here and nowhere else.
const [, , userAgent = ''] = process.argv
const exchanges = new RestExchanges(userAgent, Date.now)

process.on('message', (request: RestRequest) => {
  void answer(request).then(reply => process.send?.(reply))
})
// The parent has died or wants no more; nothing here needs saving.
process.on('disconnect', () => process.exit(0))
// Ctrl-C reaches the whole process group; the parent decides when the child ends.
process.on('SIGINT', () => {})

async function answer({ id, base, question }: RestRequest): Promise<RestAnswer> {
  try {
    const isListing = question.kind === 'listing'
    const result = isListing
      ? exchanges.listing(base, question.exchange)
      : exchanges.candlePage(base, question)
    return { id, result: await result }
  } catch (error) {
    // An error's own fields, such as `status`; its message is none of them.
    const fields = error instanceof KimchiError ? { ...error } : { code: 'KIMCHI_ERR_REST' as const }
    return { id, failure: { ...fields, message: messageOf(error).slice(0, 300) } }
  }
}
