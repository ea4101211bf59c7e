import { execFileSync } from 'node:child_process'
import { freePort } from '@kimchi/local-redis'
import { createFolder, startRedis } from '@kimchi/testkit'
import t from 'tap'
import { openRedis } from '../src/redis/connect.ts'

/** A private authority, and certificates of a server and a client that it has signed. */
async function createCertificates(folder: string) {
  const openssl = (command: string) =>
    execFileSync('openssl', command.split(' '), { cwd: folder, stdio: 'ignore' })
  const key = '-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes'
  openssl(`req -x509 ${key} -keyout ca.key -out ca.pem -days 2 -subj /CN=authority`)
  for (const name of ['server', 'client']) {
    const subject = `-subj /CN=${name} -addext subjectAltName=IP:127.0.0.1`
    openssl(`req ${key} -keyout ${name}.key -out ${name}.csr ${subject}`)
    const authority = '-CA ca.pem -CAkey ca.key -CAcreateserial'
    openssl(`x509 -req -in ${name}.csr ${authority} -out ${name}.pem -days 2 -copy_extensions copy`)
  }
}

t.test('rediss:// trusts a private authority and shows a client certificate', async t => {
  const folder = await createFolder(t)
  await createCertificates(folder)
  const redis = await startRedis(t)
  const raw = redis.client()
  const settings = {
    'tls-ca-cert-file': 'ca.pem',
    'tls-cert-file': 'server.pem',
    'tls-key-file': 'server.key',
  }
  const tlsPort = await freePort()
  const files = Object.entries(settings).flatMap(([name, file]) => [name, `${folder}/${file}`])
  await raw.call('CONFIG', 'SET', ...files, 'tls-port', tlsPort)
  const open = async (query: string, withinMs = 1_500) => {
    const connection = openRedis(`rediss://127.0.0.1:${tlsPort}${query}`)
    t.teardown(() => connection.close())
    return { connection, isReady: await connection.untilReady(withinMs) }
  }
  const ours = `?ca=${folder}/ca.pem&cert=${folder}/client.pem&key=${folder}/client.key`
  const trusted = await open(ours, 60_000)
  t.ok(trusted.isReady, trusted.connection.problem() ?? '')
  t.equal(await trusted.connection.call('PING'), 'PONG')
  t.notOk((await open('')).isReady, 'an authority that is not ours is not trusted')
  t.notOk((await open(`?ca=${folder}/ca.pem`)).isReady, 'nor is a client without a certificate')
  t.throws(() => openRedis(`rediss://127.0.0.1:${tlsPort}?ca=/nowhere.pem`), {
    code: 'KIMCHI_ERR_CONFIG',
    message: /ca must be a readable file, got: \/nowhere\.pem/,
  })
})
