import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)

/** Makes a certificate for localhost that nobody has signed and that ends in two days. */
export async function makeCertificate(dir: string) {
  const [certificate, key] = [join(dir, 'edge.crt'), join(dir, 'edge.key')]
  const subject = ['-subj', '/CN=localhost', '-days', '2']
  await run('openssl', [
    'req',
    '-x509',
    '-newkey',
    'ec',
    '-pkeyopt',
    'ec_paramgen_curve:prime256v1',
    '-nodes',
    ...subject,
    '-keyout',
    key,
    '-out',
    certificate,
  ])
  return { certificate, key }
}
