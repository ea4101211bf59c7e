import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { eventually, startRedis } from '@kimchi/testkit'
import t from 'tap'
import { startShipped } from './fixtures.ts'

const ROOT = new URL('../../../', import.meta.url)
const FILES = ['docker-compose.yml', 'deploy/kubernetes/base/redis.yaml']

t.test('the health checks of compose and Kubernetes fail while Redis loads its data', async t => {
  const text = FILES.map(name => readFileSync(new URL(name, ROOT), 'utf8')).join('\n')
  const checks = [...text.matchAll(/"valkey-cli ([^"]*)"/g)].map(([, command = '']) => command)
  t.equal(checks.length, 3)
  t.equal(new Set(checks).size, 1, 'the same everywhere')

  const redis = await startRedis(t, { appendonly: true })
  await redis.client().eval("for i = 1, 10000 do redis.call('SET', '{kp}:' .. i, 'x') end", 0)
  await redis.stop()
  // 10,000 times 0.6 ms; it answers after each 1,024.
  startShipped(t, redis, '--key-load-delay', '600')

  const ask = (command: string) =>
    spawnSync('sh', ['-c', `'${redis.binary.cli}' -p ${redis.port} ${command}`], { encoding: 'utf8' })
  const isLoading = () => /LOADING/.test(ask('--user api --pass api ping').stdout)
  // Each look starts two programs.
  const pauseMs = 250
  await eventually('it loads', isLoading, undefined, pauseMs)
  t.not(ask(String(checks[0])).status, 0)
  t.ok(isLoading(), 'it was still loading when the check failed')
  const succeeds = () => ask(String(checks[0])).status === 0
  await eventually('the check succeeds', succeeds, undefined, pauseMs)
  t.notOk(isLoading())
})
