import type { GarbageShape } from './faults.ts'

/** Bytes that are no frame, made from the text of one. */
export function garbageFrom(shape: GarbageShape, text: string): Buffer {
  return MAKERS[shape](text)
}

/** `payload` as one whole binary frame that is masked, which only a client may do. */
export function maskedFrame(payload: Buffer): Buffer {
  const head = Buffer.from([0x82, 0x80 | 126, payload.length >> 8, payload.length & 0xff, ...MASK])
  return Buffer.concat([head, payload.map((byte, i) => byte ^ (MASK[i % 4] as number))])
}

const MASK = [0x12, 0x34, 0x56, 0x78]

const MAKERS: Record<GarbageShape, (text: string) => Buffer> = {
  truncated: text => Buffer.from(text.slice(0, Math.ceil(text.length / 2))),
  utf8: text =>
    Buffer.concat([
      Buffer.from(text.slice(0, 12)),
      Buffer.from([0xc3, 0x28, 0xff, 0xfe]),
      Buffer.from(text.slice(12)),
    ]),
  nested: () => Buffer.from(`${'['.repeat(100_000)}${']'.repeat(100_000)}`),
  huge: text => Buffer.from(JSON.stringify({ padding: 'x'.repeat(8 * 1_048_576), frame: text })),
  noise: text => Buffer.from(Array.from({ length: 256 }, (_, i) => (i * 197 + text.length * 31) & 0xff)),
  masked: text => Buffer.from(text),
  bomb: () => Buffer.from(JSON.stringify('0'.repeat(64 * 1_048_576))),
}
