import type { Coding } from '../documents/compressed-body.ts'

export type AcceptedCoding = Coding | 'identity'

/** Most clients send one of few headers; a client that varies it must not fill the memory. */
const MOST_SPELLINGS = 100
const bySpelling = new Map<string, AcceptedCoding>()

/**
 * The coding that a client prefers, Brotli when it has no preference. `identity` when it accepts no other, even
 * if it refuses that too: a readable response beats a 406.
 * @param acceptEncoding the `Accept-Encoding` header @default ''
 * @see RFC 9110 §12.5.3
 */
export function bestCoding(acceptEncoding = ''): AcceptedCoding {
  const known = bySpelling.get(acceptEncoding)
  if (known !== undefined) return known
  if (bySpelling.size >= MOST_SPELLINGS) bySpelling.clear()
  const coding = choose(acceptEncoding)
  bySpelling.set(acceptEncoding, coding)
  return coding
}

function choose(acceptEncoding: string): AcceptedCoding {
  const weights = new Map<string, number>()
  for (const item of acceptEncoding.toLowerCase().split(',')) {
    const [name = '', weight = '1'] = item.split(/;\s*q\s*=/)
    weights.set(name.trim(), Number(weight) || 0)
  }
  const weightOf = (coding: Coding) => weights.get(coding) ?? weights.get('*') ?? 0
  const best = weightOf('br') >= weightOf('gzip') ? 'br' : 'gzip'
  return weightOf(best) > 0 && weightOf(best) >= (weights.get('identity') ?? 0) ? best : 'identity'
}
