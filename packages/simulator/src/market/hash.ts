const TWO_32 = 4_294_967_296

/** A well-mixed 32-bit unsigned number for (key, index); the same arguments always give the same number. */
export function hash(key: number, index: number): number {
  const high = Math.floor(index / TWO_32)
  return mix(mix(key ^ (index | 0)) + Math.imul(high, 0x9e3779b1))
}

/** `hash` as a fraction in [0, 1). */
export function fraction(key: number, index: number): number {
  return hash(key, index) / TWO_32
}

/** A 32-bit key for a text, for example of a seed and a market code. */
export function keyOf(text: string): number {
  let key = 0x811c9dc5
  for (let i = 0; i < text.length; i++) key = Math.imul(key ^ text.charCodeAt(i), 0x01000193)
  return mix(key)
}

function mix(value: number): number {
  let v = value ^ (value >>> 16)
  v = Math.imul(v, 0x85ebca6b)
  v ^= v >>> 13
  v = Math.imul(v, 0xc2b2ae35)
  return (v ^ (v >>> 16)) >>> 0
}
