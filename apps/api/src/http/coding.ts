import type { Coding } from '../documents/document.ts'

/** What we prefer where the client does not mind: the smallest first. */
const CODINGS: readonly Coding[] = ['br', 'gzip', 'identity']

const IDENTITY_ONLY: readonly Coding[] = ['identity']

/** Browsers and libraries send a few dozen different headers; anyone sending more gets theirs parsed each time. */
const REMEMBERED = 256
const REMEMBERED_LENGTH = 100

const remembered = new Map<string, readonly Coding[]>()

/**
 * The codings a client accepts, best first: by its q-values, equal ones by size. `identity` is always among them, last
 * unless asked for, because a readable answer beats a 406.
 * @param acceptEncoding the `Accept-Encoding` header; undefined when there was none
 * @see RFC 9110 §12.5.3
 */
export function acceptedCodings(acceptEncoding: string | undefined): readonly Coding[] {
  if (acceptEncoding === undefined) return IDENTITY_ONLY
  const known = remembered.get(acceptEncoding)
  if (known !== undefined) return known
  const codings = parse(acceptEncoding)
  if (remembered.size < REMEMBERED && acceptEncoding.length <= REMEMBERED_LENGTH) {
    remembered.set(acceptEncoding, codings)
  }
  return codings
}

function parse(acceptEncoding: string): readonly Coding[] {
  const weights = new Map<string, number>()
  for (const item of acceptEncoding.toLowerCase().split(',')) {
    const [name = '', ...parameters] = item.split(';').map(part => part.trim())
    const weight = weightOf(parameters)
    if (name !== '' && weight !== undefined) weights.set(name === 'x-gzip' ? 'gzip' : name, weight)
  }
  const rest = weights.get('*') ?? 0
  const weight = (coding: Coding) => weights.get(coding) ?? (coding === 'identity' ? 0 : rest)
  return CODINGS.filter(coding => coding === 'identity' || weight(coding) > 0).sort(
    (a, b) => weight(b) - weight(a),
  )
}

/** The q-value, 1 when there is none, undefined when it is malformed: such an item counts as not sent. */
function weightOf(parameters: readonly string[]): number | undefined {
  const q = parameters.find(parameter => /^q\s*=/.test(parameter))
  if (q === undefined) return 1
  const value = q.slice(q.indexOf('=') + 1).trim()
  return /^(0(\.\d{0,3})?|1(\.0{0,3})?)$/.test(value) ? Number(value) : undefined
}
