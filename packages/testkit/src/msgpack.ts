/**
 * Reads one MessagePack value made of arrays and numbers, written for the audit alone, so that it does not
 * trust what the writer's codec believes.
 * @throws RangeError or Error for anything else
 */
export function readMessagePack(bytes: Uint8Array): unknown {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  let at = 0
  const take = (length: number) => {
    at += length
    return at - length
  }
  const read = (): unknown => {
    const type = view.getUint8(take(1))
    if (type < 0x80) return type
    if (type >= 0xe0) return type - 0x100
    if (type >= 0x90 && type < 0xa0) return Array.from({ length: type - 0x90 }, read)
    switch (type) {
      case 0xca:
        return view.getFloat32(take(4))
      case 0xcb:
        return view.getFloat64(take(8))
      case 0xcc:
        return view.getUint8(take(1))
      case 0xcd:
        return view.getUint16(take(2))
      case 0xce:
        return view.getUint32(take(4))
      case 0xcf:
        return Number(view.getBigUint64(take(8)))
      case 0xd0:
        return view.getInt8(take(1))
      case 0xd1:
        return view.getInt16(take(2))
      case 0xd2:
        return view.getInt32(take(4))
      case 0xd3:
        return Number(view.getBigInt64(take(8)))
      default:
        throw new Error(`unexpected MessagePack type 0x${type.toString(16)} at ${at - 1}`)
    }
  }
  const value = read()
  if (at !== bytes.byteLength) throw new Error(`${bytes.byteLength - at} bytes after the value`)
  return value
}
