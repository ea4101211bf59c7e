import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { percentOf, premiumE4 } from '@kimchi/core'
import t from 'tap'
import { openApiDocument } from '../scripts/openapi-document.mjs'
import { breachesOf, contract, schemaBreaches } from './contract.ts'

const { ERRORS } = contract

t.test('docs/openapi.json is up to date', async t => {
  const file = fileURLToPath(new URL('../../../docs/openapi.json', import.meta.url))
  t.strictSame(
    JSON.parse(readFileSync(file, 'utf8')),
    JSON.parse(JSON.stringify(openApiDocument(contract))),
    'run: npm run docs',
  )
})

t.test('every error code is documented with its status, and no other', async t => {
  const document = openApiDocument(contract)
  const { code } = JSON.parse(JSON.stringify(document)).components.schemas.Error.properties
  t.strictSame(Object.keys(ERRORS).sort(), code.examples.toSorted())
  const text = JSON.stringify(document)
  for (const code of Object.keys(ERRORS)) t.ok(text.includes(`\`${code}\`:`), code)
})

t.test('fields and error codes may be added without breaking the document', async t => {
  const text = JSON.stringify(openApiDocument(contract).components.schemas)
  t.notMatch(text, /additionalProperties/)
  t.notMatch(text, /"enum"/)
})

t.test('the contract check notices breaches', async t => {
  const good = {
    status: 404,
    headers: {
      'access-control-allow-origin': '*',
      'access-control-expose-headers': 'ETag',
      'cache-control': 'x',
      'content-type': 'application/json; charset=utf-8',
      'content-length': '58',
    },
    body: '{"result":"error","code":"no_such_route","message":"nope"}',
  }
  t.strictSame(await breachesOf('GET', '/x', good), [])
  const { 'cache-control': _, ...headers } = good.headers
  t.strictSame(await breachesOf('GET', '/x', { ...good, headers }), ['no Cache-Control'])
  t.match(await breachesOf('GET', '/x', { ...good, body: good.body.replace('nope', 'nop') }), [
    /content-length/,
  ])
  t.match(await breachesOf('GET', '/x', { ...good, body: good.body.replace('no_such', 'xx_such') }), [
    /enum|allowed/,
  ])
  const more = good.body.replace('nope', 'no').replace('}', ',"a":1}')
  t.match(await schemaBreaches('Error', more), [/additional/])
  t.match(await breachesOf('GET', '/x', { ...good, status: 418 }), [/not documented/])
})

t.test('every documented answer with a body has an example that fits its schema', async t => {
  const { paths, components } = JSON.parse(JSON.stringify(openApiDocument(contract)))
  const answers = [
    ...Object.values<{ get: { responses: object } }>(paths).flatMap(({ get }) =>
      Object.entries(get.responses),
    ),
    ...Object.entries(components.responses),
  ].filter(([, { content }]) => content !== undefined)
  t.ok(answers.length >= 10, `${answers.length} answers`)
  for (const [name, { content }] of answers) {
    const { schema, example, examples } = content['application/json']
    const values = examples
      ? Object.values<{ value: unknown }>(examples).map(({ value }) => value)
      : [example]
    t.not(values.length, 0, `${name} has an example`)
    for (const value of values)
      t.strictSame(await schemaBreaches(schema.$ref, JSON.stringify(value)), [], name)
  }
})

t.test("the live example's premium follows from its own prices", async t => {
  const { paths } = JSON.parse(JSON.stringify(openApiDocument(contract)))
  const { content } = paths['/kimchi-premium'].get.responses[200]
  const [row] = content['application/json'].example.data
  t.equal(row.premium_pct, percentOf(premiumE4(row.upbit_krw, row.binance_usdt, row.usdt_krw)))
})
