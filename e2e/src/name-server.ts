import { createSocket } from 'node:dgram'
import { decode, encode } from 'dns-packet'

/** What a name server says to a question: addresses, an error by its code in the header, or nothing. */
export type Reply = readonly string[] | number | undefined

/** Error codes of name servers. @see RFC 1035 §4.1.1 */
export const CODES = { SERVFAIL: 2, NXDOMAIN: 3, NOTIMP: 4, REFUSED: 5 } as const

/**
 * Opens a name server on 127.0.0.1, by UDP.
 * @param ipv4 what it answers for every name to a question for IPv4
 * @param ipv6 what to one for IPv6; an IPv4 address too, as some do @default no address
 */
export async function openNameServer(ipv4: Reply, ipv6: Reply = []) {
  let current = ipv4
  let onAsked = () => {}
  const socket = createSocket('udp4', (query, { port, address }) => {
    const { id, questions = [] } = decode(query)
    const [question] = questions
    const reply = question?.type === 'A' ? current : question?.type === 'AAAA' ? ipv6 : []
    if (question === undefined || reply === undefined) return
    const [flags, addresses] = typeof reply === 'number' ? [reply, []] : [0, reply]
    const answers = addresses.map(data => {
      const type: 'A' | 'AAAA' = data.includes(':') ? 'AAAA' : 'A'
      return { type, name: question.name, ttl: 1, data }
    })
    socket.send(encode({ type: 'response', id, flags, questions, answers }), port, address)
    if (question.type === 'A' && answers.length > 0) onAsked()
  })
  await new Promise<void>(resolve => socket.bind(0, '127.0.0.1', resolve))
  return {
    port: socket.address().port,
    /** What every name stands for from now on; resolves when somebody has asked since. */
    answerWith(next: Reply) {
      current = next
      return new Promise<void>(resolve => {
        onAsked = resolve
      })
    },
    close() {
      socket.close()
    },
  }
}
