import type { GarbageShape } from './fault.ts'

/** Makes bytes that are no frame from the text of one. */
export const GARBAGE: Readonly<Record<GarbageShape, (text: string) => Buffer>> = {
  truncated: text => Buffer.from(text.slice(0, Math.ceil(text.length / 2))),
  utf8: text => Buffer.from(`${text.slice(0, 12)}\xc3\x28\xff\xfe${text.slice(12)}`, 'latin1'),
  nested: () => Buffer.from(`${'['.repeat(100_000)}${']'.repeat(100_000)}`),
  noise: text => Buffer.from(Array.from({ length: 256 }, (_, i) => (i * 197 + text.length * 31) & 0xff)),
}
