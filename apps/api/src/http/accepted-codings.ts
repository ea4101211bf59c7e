import type { Coding } from '../documents/coded-bodies.ts'

/** A coding of {@link Coding}, or none. */
export type AcceptedCoding = Coding | 'identity'

/** At least one, the best first. */
export type AcceptedCodings = readonly [AcceptedCoding, ...AcceptedCoding[]]

/** What we prefer where the client does not mind: the smallest first. */
const CODINGS: readonly AcceptedCoding[] = ['br', 'gzip', 'identity']

/** Clients spell the header in few ways; strange ones must not fill the memory. */
const MOST_SPELLINGS = 100
const bySpelling = new Map<string | undefined, AcceptedCodings>()

/**
 * The codings a client accepts, best first: by its q-values, equal ones by size. `identity` is always
 * among them, last unless asked for, because a readable response beats a 406.
 * @param acceptEncoding the `Accept-Encoding` header; undefined when there was none
 * @see RFC 9110 §12.5.3
 */
export function acceptedCodings(acceptEncoding: string | undefined): AcceptedCodings {
  const known = bySpelling.get(acceptEncoding)
  if (known !== undefined) return known
  if (bySpelling.size >= MOST_SPELLINGS) bySpelling.clear()
  const codings = readCodings(acceptEncoding)
  bySpelling.set(acceptEncoding, codings)
  return codings
}

function readCodings(acceptEncoding: string | undefined): AcceptedCodings {
  const weights = new Map<string, number>()
  for (const item of acceptEncoding?.toLowerCase().split(',') ?? []) {
    const [name = '', ...parameters] = item.split(';').map(part => part.trim())
    const weight = weightOf(parameters)
    if (name !== '' && weight !== undefined) weights.set(name === 'x-gzip' ? 'gzip' : name, weight)
  }
  const rest = weights.get('*') ?? 0
  const weight = (coding: AcceptedCoding) => weights.get(coding) ?? (coding === 'identity' ? 0 : rest)
  const [best = 'identity', ...others] = CODINGS.filter(
    coding => coding === 'identity' || weight(coding) > 0,
  ).sort((a, b) => weight(b) - weight(a))
  return [best, ...others]
}

/** The q-value, 1 when there is none, undefined when it is malformed: such an item counts as not sent. */
function weightOf(parameters: readonly string[]): number | undefined {
  const q = parameters.find(parameter => /^q\s*=/.test(parameter))
  if (q === undefined) return 1
  const value = q.slice(q.indexOf('=') + 1).trim()
  return /^(0(\.\d{0,3})?|1(\.0{0,3})?)$/.test(value) ? Number(value) : undefined
}
