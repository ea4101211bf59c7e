import type { GarbageShape } from './fault.ts'

/** Bytes that are no frame, made from the text of one. */
export function garbageFrom(shape: GarbageShape, text: string): Buffer {
  return MAKERS[shape](text)
}

const MAKERS: Record<GarbageShape, (text: string) => Buffer> = {
  truncated: text => Buffer.from(text.slice(0, Math.ceil(text.length / 2))),
  utf8: text =>
    Buffer.concat([
      Buffer.from(text.slice(0, 12)),
      Buffer.from([0xc3, 0x28, 0xff, 0xfe]),
      Buffer.from(text.slice(12)),
    ]),
  nested: () => Buffer.from(`${'['.repeat(100_000)}${']'.repeat(100_000)}`),
  noise: text => Buffer.from(Array.from({ length: 256 }, (_, i) => (i * 197 + text.length * 31) & 0xff)),
}
