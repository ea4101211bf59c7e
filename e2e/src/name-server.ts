import { createSocket } from 'node:dgram'

const HEADER_BYTES = 12
const QUESTION_END_BYTES = 5
const TYPE_A = 1

/** Opens a name server on 127.0.0.1, by UDP, which gives these IPv4 addresses for every name. */
export async function openNameServer(addresses: readonly string[]) {
  let current = addresses
  let onAsked = () => {}
  const socket = createSocket('udp4', (query, { port, address }) => {
    const type = query.readUInt16BE(endOfName(query) + 1)
    socket.send(answer(query, type === TYPE_A ? current : []), port, address)
    if (type === TYPE_A) onAsked()
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

/** Index of the empty label that ends the name in the question. */
function endOfName(query: Buffer): number {
  let at = HEADER_BYTES
  while (query[at] !== 0) at += (query[at] as number) + 1
  return at
}

/** RFC 1035: the header, the question as it came, and a record of a second's life for each address. */
function answer(query: Buffer, addresses: readonly string[]): Buffer {
  const question = query.subarray(HEADER_BYTES, endOfName(query) + QUESTION_END_BYTES)
  const header = Buffer.from(query.subarray(0, HEADER_BYTES))
  header.writeUInt16BE(0x8180, 2)
  header.writeUInt16BE(addresses.length, 6)
  header.writeUInt32BE(0, 8)
  const records = addresses.map(address =>
    Buffer.from([0xc0, HEADER_BYTES, 0, TYPE_A, 0, 1, 0, 0, 0, 1, 0, 4, ...address.split('.').map(Number)]),
  )
  return Buffer.concat([header, question, ...records])
}
