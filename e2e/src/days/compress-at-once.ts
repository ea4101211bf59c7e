import { syncBuiltinESMExports } from 'node:module'
import zlib from 'node:zlib'

// The replica compresses on other threads, for which the world's clock could not wait. Import this before the replica.
Object.assign(zlib, {
  gzip: atOnce(zlib.gzipSync),
  brotliCompress: atOnce(zlib.brotliCompressSync),
})
syncBuiltinESMExports()

type Done = (error: null, bytes: Buffer) => void

function atOnce(compress: (plain: Buffer, options?: object) => Buffer) {
  return (plain: Buffer, ...rest: [object, Done] | [Done]) => {
    const done = rest.at(-1) as Done
    done(null, compress(plain, rest.length > 1 ? rest[0] : undefined))
  }
}
