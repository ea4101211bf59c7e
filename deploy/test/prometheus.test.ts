import { spawnSync } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { parse, stringify } from 'yaml'

const FOLDER = fileURLToPath(new URL('../prometheus', import.meta.url))

function promtool(...args: readonly string[]) {
  const { error, status, stdout, stderr } = spawnSync('promtool', args, { cwd: FOLDER, encoding: 'utf8' })
  return { error, status, printed: `${stdout}${stderr}` }
}

/** From Debian it comes with prometheus. */
const skip = promtool('--version').error === undefined ? false : 'promtool is not installed'

const read = (name: string) => readFile(`${FOLDER}/${name}`, 'utf8')
const { groups } = parse(await read('rules.yml'))

// docs/faults.md, 74
t.test('each alert fires when it must, and not before', { skip }, async t => {
  const objective = groups.filter(({ name }: { name: string }) => name === 'objective')
  const alone = t.testdir({
    'rules.yml': stringify({ groups: objective }),
    'objective.test.yml': await read('objective.test.yml'),
  })
  const files = ['rules.test.yml', `${alone}/objective.test.yml`]
  const { status, printed } = promtool('test', 'rules', ...files)
  t.equal(status, 0, printed)
})

t.test('every alert is tested, says what to do, and links to a runbook section that exists', async t => {
  const files = ['rules.test.yml', 'objective.test.yml']
  const tests = (await Promise.all(files.map(read))).join('')
  const operations = await readFile(new URL('../../docs/operations.md', import.meta.url), 'utf8')
  const sections = new Map(
    operations.split(/^## /m).map(text => [text.split('\n')[0]?.toLowerCase().replaceAll(' ', '-'), text]),
  )
  const rules = groups.flatMap((group: { rules: { alert?: string }[] }) => group.rules)
  for (const { alert, labels, annotations } of rules.filter(({ alert }: { alert?: string }) => alert)) {
    t.match(labels.severity, alert === 'Watchdog' ? 'none' : /^(page|ticket)$/, alert)
    t.ok(annotations.summary, alert)
    t.match(tests, new RegExp(`alertname(: |=")${alert}\\b`), `${alert} is tested`)
    const [file, heading] = annotations.runbook_url.split('#')
    t.equal(file, 'docs/operations.md', alert)
    t.match(sections.get(heading), /```sh\n/, `${alert}: ${heading} has commands`)
  }
})

t.test('Prometheus accepts the configuration', { skip }, async t => {
  const { status, printed } = promtool('check', 'config', 'prometheus.yml')
  t.equal(status, 0, printed)
})
