import { createSocket } from 'node:dgram'
import { decode, encode } from 'dns-packet'

/** Opens a name server on 127.0.0.1, by UDP, which gives these IPv4 addresses for every name. */
export async function openNameServer(addresses: readonly string[]) {
  let current = addresses
  let onAsked = () => {}
  const socket = createSocket('udp4', (query, { port, address }) => {
    const { id, questions = [] } = decode(query)
    const answers = questions.flatMap(({ name, type }) =>
      type === 'A' ? current.map(data => ({ type, name, ttl: 1, data })) : [],
    )
    socket.send(encode({ type: 'response', id, questions, answers }), port, address)
    if (answers.length > 0) onAsked()
  })
  await new Promise<void>(resolve => socket.bind(0, '127.0.0.1', resolve))
  return {
    port: socket.address().port,
    /** What every name stands for from now on; resolves when somebody has asked since. */
    answerWith(next: readonly string[]) {
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
