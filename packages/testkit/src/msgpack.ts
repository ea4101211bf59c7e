/** How many bytes a number of each type takes, and the DataView method that reads it. */
const NUMBERS = {
  202: [4, 'getFloat32'],
  203: [8, 'getFloat64'],
  204: [1, 'getUint8'],
  205: [2, 'getUint16'],
  206: [4, 'getUint32'],
  207: [8, 'getBigUint64'],
  208: [1, 'getInt8'],
  209: [2, 'getInt16'],
  210: [4, 'getInt32'],
  211: [8, 'getBigInt64'],
} as const

/**
 * Reads one MessagePack value made of arrays and numbers, written for the audit alone, so that it does not
 * trust what the writer's codec believes.
 * @throws RangeError or Error for anything else
 */
export function readMessagePack(bytes: Uint8Array): unknown {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  let at = 0
  const read = (): unknown => {
    const type = view.getUint8(at++)
    if (type < 0x80) return type
    if (type >= 0xe0) return type - 0x100
    if (type >= 0x90 && type < 0xa0) return Array.from({ length: type - 0x90 }, read)
    if (!(type in NUMBERS)) throw new Error(`unexpected MessagePack type 0x${type.toString(16)} at ${at - 1}`)
    const [length, method] = NUMBERS[type as keyof typeof NUMBERS]
    at += length
    return Number(view[method](at - length))
  }
  const value = read()
  if (at !== bytes.byteLength) throw new Error(`${bytes.byteLength - at} bytes after the value`)
  return value
}
