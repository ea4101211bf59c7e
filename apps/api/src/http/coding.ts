import type { Coding } from '../documents/compressed-body.ts'

export type AcceptedCoding = Coding | 'identity'

const BR = acceptOf('br')
const GZIP = acceptOf('(?:x-)?gzip')

/**
 * Brotli where a client accepts it, else gzip, else `identity`, even if it refuses that: a readable response beats a
 * 406. The edge's cache.conf says the same.
 * @param acceptEncoding the `Accept-Encoding` header @default ''
 * @see RFC 9110 §12.5.3
 */
export function bestCoding(acceptEncoding = ''): AcceptedCoding {
  if (BR.test(acceptEncoding)) return 'br'
  return GZIP.test(acceptEncoding) ? 'gzip' : 'identity'
}

/** Finds a coding in a list; a q of 0, and one that is none, refuse it. */
function acceptOf(name: string): RegExp {
  const weight = String.raw`;[ \t]*q[ \t]*=[ \t]*(?:1(?:\.0{0,3})?|0\.(?=\d*[1-9])\d{1,3})[ \t]*`
  return new RegExp(String.raw`(?:^|,)[ \t]*${name}[ \t]*(?:${weight})?(?:,|$)`, 'i')
}
