import { readFileSync } from 'node:fs'
import t from 'tap'
import { EXPECTED } from '../../src/doctor/finding.ts'

const EXCHANGES = new URL('../../../../docs/exchanges.md', import.meta.url)

t.test('docs/exchanges.md lists exactly what the doctor checks', async t => {
  const [, section = ''] = readFileSync(EXCHANGES, 'utf8').split('### What `npm run doctor` checks')
  const rows = section.split('\n').filter(line => line.startsWith('| '))
  t.strictSame(
    rows.slice(1).map(row => row.trim()),
    Object.entries(EXPECTED).map(([check, expected]) => `| ${check} | ${expected} |`),
  )
})
