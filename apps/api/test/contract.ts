import { readFileSync } from 'node:fs'
import { fastify } from 'fastify'
import { ERRORS } from '../src/contract/errors.ts'

/** The contract as callers read it. */
export const document = JSON.parse(
  readFileSync(new URL('../../../docs/openapi.json', import.meta.url), 'utf8'),
)

/** An answer as a client sees it. */
export interface SeenAnswer {
  readonly status: number
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, unknown>>
  readonly body: string
}

interface DocumentedResponse {
  readonly headers?: Readonly<Record<string, { readonly $ref: string }>>
  readonly content?: Readonly<Record<string, { readonly schema: { readonly $ref: string } }>>
}

/** Refuses fields that the document does not name; for callers it leaves room for more. */
function strict(schema: unknown): unknown {
  if (Array.isArray(schema) || typeof schema !== 'object' || schema === null) return schema
  const inner = Object.fromEntries(Object.entries(schema).map(([key, value]) => [key, strict(value)]))
  return 'properties' in inner ? { ...inner, additionalProperties: false } : inner
}

/** Validates bodies with the validator that Fastify brings: one route per documented schema. */
const validator = fastify({
  bodyLimit: 10_000_000,
  ajv: { customOptions: { coerceTypes: false, removeAdditional: false, useDefaults: false } },
})
const documented = structuredClone(document.components.schemas)
documented.Error.properties.code.enum = Object.keys(ERRORS)
for (const [name, schema] of Object.entries(documented))
  validator.post(`/${name}`, { schema: { body: strict(schema) } }, async () => 'fits')

/** Every difference between an answer and the documented contract. */
export async function breachesOf(
  method: string,
  url: string,
  answer: SeenAnswer,
): Promise<readonly string[]> {
  const { status, headers, body } = answer
  if (method === 'OPTIONS' && status === 204) return headers.allow === undefined ? ['204 without Allow'] : []
  const response = documentedResponse(method, url, status)
  if (response === undefined) return [`${method} ${url} is not documented to answer ${status}`]
  const breaches: string[] = []
  for (const [name, { $ref }] of Object.entries(response.headers ?? {})) {
    const { schema } = document.components.headers[$ref.split('/').at(-1) ?? '']
    const value = headers[name.toLowerCase()]
    if (value === undefined) breaches.push(`no ${name}`)
    else if (schema.const !== undefined && schema.const !== value) breaches.push(`${name}: ${value}`)
  }
  const schema = response.content?.['application/json']?.schema.$ref.split('/').at(-1)
  if (status === 304 || method === 'HEAD') {
    if (body !== '') breaches.push('a body where there must be none')
  } else if (schema === undefined) {
    breaches.push('no schema is documented')
  } else {
    breaches.push(...(await bodyBreaches(schema, answer)))
  }
  return breaches
}

async function bodyBreaches(schema: string, { headers, body }: SeenAnswer): Promise<readonly string[]> {
  const breaches: string[] = []
  if (headers['content-length'] !== String(Buffer.byteLength(body))) {
    breaches.push(`content-length ${headers['content-length']} for ${Buffer.byteLength(body)} bytes`)
  }
  if (headers['content-type'] !== 'application/json; charset=utf-8') {
    breaches.push(`content-type ${headers['content-type']}`)
  }
  return [...breaches, ...(await schemaBreaches(schema, body))]
}

/** The differences between a body and a documented schema, named by its reference or its last part. */
export async function schemaBreaches(reference: string, body: string): Promise<readonly string[]> {
  const schema = reference.split('/').at(-1)
  const checked = await validator.inject({
    method: 'POST',
    url: `/${schema}`,
    headers: { 'content-type': 'application/json' },
    payload: body,
  })
  return checked.statusCode === 200 ? [] : [`${schema}: ${checked.json().message}`]
}

function documentedResponse(method: string, url: string, status: number): DocumentedResponse | undefined {
  const path = url.replace(/^http:\/\/[^/]*/, '').split('?', 1)[0] ?? ''
  const template = Object.keys(document.paths).find(candidate =>
    new RegExp(`^/api/v1${candidate.replace('{symbol}', '[^/]*')}$`).test(path),
  )
  const operation = template === undefined ? undefined : document.paths[template][method.toLowerCase()]
  const response = operation?.responses[status]
  return response?.$ref === undefined && response !== undefined
    ? response
    : document.components.responses[`Error${status}`]
}
