import { percentOf, premiumE4 } from '@kimchi/core'
import t from 'tap'
import { ALLOWED_METHODS, ERRORS } from '../src/contract/errors.ts'
import { DAYS, SYMBOL } from '../src/contract/parameters.ts'
import { breachesOf, document, schemaBreaches } from './contract.ts'

const { paths, components } = document

t.test('docs/openapi.json has the words of every error under its status, and no others', async t => {
  const documented = Object.keys(components.responses).flatMap(name => {
    const { description, content } = components.responses[name]
    const { examples } = content['application/json']
    const codes = Object.keys(examples)
    const described = codes.map(code => `\`${code}\`: ${examples[code].value.message}.`)
    t.equal(description, described.join(' '))
    return codes.map(code => [code, { status: Number(name.replace('Error', '')), ...examples[code].value }])
  })
  const thrown = Object.entries(ERRORS).map(([code, { status, message }]) => [
    code,
    { status, result: 'error', code, message },
  ])
  t.strictSame(Object.fromEntries(documented), Object.fromEntries(thrown))
  t.strictSame(components.schemas.Error.properties.code.examples, Object.keys(ERRORS))
})

t.test('docs/openapi.json names every status that a route may answer', async t => {
  const statuses = new Set(Object.values(ERRORS).map(({ status }) => String(status)))
  for (const [path, { get, head }] of Object.entries<Record<string, { responses: object }>>(paths)) {
    const expected = [...statuses].filter(status => status !== '404' || path.includes('{symbol}'))
    for (const operation of [get, head])
      t.strictSame(Object.keys(operation?.responses ?? {}), ['200', '304', ...expected].sort(), path)
  }
})

t.test('docs/openapi.json has the limits of the parameters, and the methods', async t => {
  const [symbol, days] = paths['/kimchi-premium/{symbol}/daily'].parameters
  t.equal(symbol.schema.pattern, SYMBOL.source)
  t.match(days.schema, DAYS)
  t.match(days.description, `${DAYS.minimum} to ${DAYS.maximum}, ${DAYS.default} when left out`)
  t.equal(components.headers.Allow.schema.const, ALLOWED_METHODS)
})

t.test('fields and error codes may be added without breaking the document', async t => {
  const text = JSON.stringify(components.schemas)
  t.notMatch(text, /additionalProperties/)
  t.notMatch(text, /"enum"/)
})

t.test('the contract check notices breaches', async t => {
  const body = '{"result":"error","code":"no_such_route","message":"nope"}'
  const headers = {
    'access-control-allow-origin': '*',
    'access-control-expose-headers': 'ETag',
    'cache-control': 'x',
    'content-type': 'application/json; charset=utf-8',
    'content-length': '58',
  }
  const breaches = (change: object) => breachesOf('GET', '/x', { status: 404, headers, body, ...change })
  t.strictSame(await breaches({}), [])
  t.match(await breaches({ headers: { ...headers, 'cache-control': undefined } }), ['no Cache-Control'])
  t.match(await breaches({ body: body.replace('nope', 'nop') }), [/content-length/])
  t.match(await breaches({ body: body.replace('no_such', 'xx_such') }), [/enum|allowed/])
  t.match(await breaches({ body: body.replace('nope', 'no').replace('}', ',"a":1}') }), [
    /length/,
    /additional/,
  ])
  t.match(await breaches({ status: 418 }), [/not documented/])
})

t.test('every documented answer with a body has an example that fits its schema', async t => {
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
  const { content } = paths['/kimchi-premium'].get.responses[200]
  const [row] = content['application/json'].example.data
  t.equal(row.premium_pct, percentOf(premiumE4(row.upbit_krw, row.binance_usdt, row.usdt_krw)))
})
