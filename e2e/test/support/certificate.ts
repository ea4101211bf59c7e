import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)
const REQUEST =
  'req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj /CN=localhost -days 2'

/** Makes a certificate for localhost that nobody has signed and that ends in two days. */
export async function makeCertificate(dir: string) {
  const [certificate, key] = [join(dir, 'edge.crt'), join(dir, 'edge.key')]
  await run('openssl', [...REQUEST.split(' '), '-keyout', key, '-out', certificate])
  return { certificate, key }
}
