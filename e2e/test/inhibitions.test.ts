import { join } from 'node:path'
import { freePort } from '@kimchi/local-redis'
import { createFolder, eventually } from '@kimchi/testkit'
import t from 'tap'
import { SHIPPED, lacksMonitoring as skip, startAlertmanager } from './support/monitoring.ts'

interface Alert {
  readonly labels: Readonly<Record<string, string>>
  readonly status: { readonly state: string }
}

t.test('an alert suppresses those of the same cause, and no other', { skip }, async t => {
  const port = await freePort()
  startAlertmanager(t, await createFolder(t), join(SHIPPED, 'alertmanager.yml'), port)
  const url = `http://127.0.0.1:${port}/api/v2/alerts`

  const fire = async (...alerts: readonly string[]) => {
    const labels = alerts.map(text => {
      const [alertname = '', job] = text.split(' ')
      return { alertname, severity: 'page', ...(job && { job }) }
    })
    const body = JSON.stringify(labels.map(labels => ({ labels })))
    const headers = { 'content-type': 'application/json' }
    await eventually('Alertmanager accepts alerts', async () =>
      fetch(url, { method: 'POST', headers, body }).then(
        ({ ok }) => ok,
        () => false,
      ),
    )
  }
  const readActive = async () => {
    const alerts = (await (await fetch(url)).json()) as Alert[]
    const active = alerts.filter(({ status }) => status.state !== 'suppressed')
    return active.map(({ labels }) => [labels.alertname, labels.job].join(' ').trim()).sort()
  }
  const wakes = async (...alerts: readonly string[]) => {
    await eventually('Alertmanager answers', async () => (await readActive()).length <= alerts.length)
    t.strictSame(await readActive(), alerts)
  }

  const symptoms = ['CallersGetErrors', 'EdgeDown', 'ListsOldFast', 'NotReady api']
  await fire('CoinsStale', 'ListsOldFast', 'NotReady api')
  await wakes('NotReady api')
  await fire(...symptoms)
  await wakes('EdgeDown', 'NotReady api')
  await fire('NotReady ingester', 'RedisNearlyFull')
  await wakes('EdgeDown', 'NotReady ingester', 'RedisNearlyFull')
})
