import { syncBuiltinESMExports } from 'node:module'
import zlib, { type BrotliOptions } from 'node:zlib'

type Done = (error: null, coded: Buffer) => void

// A thread's work takes real time, for which the world's clock does not wait. Imported before what compresses.
Object.assign(zlib, {
  gzip: (plain: Buffer, _options: unknown, done: Done) => done(null, zlib.gzipSync(plain)),
  brotliCompress: (plain: Buffer, options: BrotliOptions, done: Done) =>
    done(null, zlib.brotliCompressSync(plain, options)),
})
syncBuiltinESMExports()
