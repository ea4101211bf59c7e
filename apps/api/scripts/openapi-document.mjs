import { errorSchema, historySchema, liveListSchema, parameterSchemas } from './schemas.mjs'

/**
 * The contract in code: src/contract as it is for tests, built for the script.
 * @typedef {typeof import('../src/contract/errors.ts') & typeof import('../src/contract/parameters.ts')} Contract
 */

const text = { type: 'string' }

const headers = {
  'Access-Control-Allow-Origin': { description: 'Any page may read the answer.', schema: { const: '*' } },
  'Access-Control-Expose-Headers': { schema: text },
  'Cache-Control': { description: 'Seconds until the next minute’s answer is due.', schema: text },
  ETag: { description: 'Strong, the same on every replica; for `If-None-Match`.', schema: text },
  Vary: { schema: { const: 'Accept-Encoding' } },
  Allow: { schema: text },
  'Retry-After': { description: 'Seconds.', schema: text },
}

/** @type {readonly (keyof typeof headers)[]} */
const ON_EVERY_ANSWER = ['Access-Control-Allow-Origin', 'Access-Control-Expose-Headers', 'Cache-Control']

/** Statuses that any request may get, whatever it asks: broken HTTP, another method, limits of an edge. */
const ANY_REQUEST = [400, 405, 408, 429, 431, 500, 503]

/**
 * The contract as an OpenAPI 3.1 document, for `docs/openapi.json`. Everything in it comes from the schemas
 * and the error table.
 * @param {Contract} contract
 */
export function openApiDocument(contract) {
  const { ALLOWED_METHODS, ERRORS } = contract
  const { symbolSchema, daysSchema } = parameterSchemas(contract)
  const schemas = { LiveList: liveListSchema, History: historySchema, Error: errorSchema(contract) }
  const live = jsonOf('LiveList', { example: exampleOf(liveListSchema) })
  const history = jsonOf('History', { example: exampleOf(historySchema) })
  const url = '{origin}/api/v1'
  const origin = { default: 'http://127.0.0.1:3000' }
  const { minimum, maximum, default: usual } = daysSchema
  const days = `How many of the newest rows, ${minimum} to ${maximum}, ${usual} when left out; given once. Other query keys are ignored.`
  return {
    openapi: '3.1.0',
    info: {
      title: 'Korean price gap (premium)',
      version: '1.0.0',
      description:
        'The gap in percent between the price of crypto coins on Upbit (KRW) and on Binance (USDT), every minute, and its history by UTC day. Free, no key, callable from any page.',
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url, description: 'Wherever the service runs.', variables: { origin } }],
    security: [],
    paths: {
      '/kimchi-premium': {
        get: operation('getLivePremium', 'The latest premium of every tracked coin', [], live),
        head: operation('headLivePremium', 'The headers of the live list', []),
      },
      '/kimchi-premium/{symbol}/daily': {
        parameters: [
          parameter('symbol', 'path', symbolSchema, symbolSchema.description),
          parameter('days', 'query', daysSchema, days),
        ],
        get: operation('getDailyPremium', 'The daily premium history of one coin', [404], history),
        head: operation('headDailyPremium', 'The headers of a history', [404]),
      },
    },
    components: {
      schemas,
      headers: { ...headers, Allow: { schema: { const: ALLOWED_METHODS } } },
      responses: Object.fromEntries(
        [404, ...ANY_REQUEST].map(status => [`Error${status}`, errorResponse(ERRORS, status)]),
      ),
    },
  }
}

/** @param {string} name @param {'path' | 'query'} place @param {object} schema @param {string} description */
function parameter(name, place, schema, description) {
  return { name, in: place, required: place === 'path', description, schema }
}

/**
 * @param {string} operationId
 * @param {string} summary
 * @param {readonly number[]} errors beside those of any request
 * @param {object} body that of a good answer; none for a HEAD
 */
function operation(operationId, summary, errors, body = {}) {
  const statuses = [...ANY_REQUEST, ...errors].sort((a, b) => a - b)
  const own = references([...ON_EVERY_ANSWER, 'ETag', 'Vary'])
  return {
    operationId,
    summary,
    responses: {
      200: { description: 'The newest data.', headers: own, ...body },
      304: { description: 'What the caller has is still the newest.', headers: own },
      ...Object.fromEntries(
        statuses.map(status => [status, { $ref: `#/components/responses/Error${status}` }]),
      ),
    },
  }
}

/**
 * The examples of an error are its own words, one per code.
 * @param {Contract['ERRORS']} errors
 * @param {number} status
 */
function errorResponse(errors, status) {
  const codes = Object.entries(errors).filter(([, error]) => error.status === status)
  /** @type {readonly (keyof typeof headers)[]} */
  const own = status === 405 ? ['Allow'] : status === 503 || status === 429 ? ['Retry-After'] : []
  const examples = codes.map(([code, { message }]) => [code, { value: { result: 'error', code, message } }])
  return {
    description: codes.map(([code, { message }]) => `\`${code}\`: ${message}.`).join(' '),
    headers: references([...ON_EVERY_ANSWER, ...own]),
    ...jsonOf('Error', { examples: Object.fromEntries(examples) }),
  }
}

/** @param {string} schema @param {object} examples */
function jsonOf(schema, examples) {
  return {
    content: { 'application/json': { schema: { $ref: `#/components/schemas/${schema}` }, ...examples } },
  }
}

/** A value made of the examples in a schema. @param {any} schema @returns {unknown} */
function exampleOf({ const: constant, examples, items, properties }) {
  if (items) return [exampleOf(items)]
  if (!properties) return constant ?? examples[0]
  return Object.fromEntries(Object.entries(properties).map(([name, field]) => [name, exampleOf(field)]))
}

/** @param {readonly (keyof typeof headers)[]} names */
function references(names) {
  return Object.fromEntries(names.map(name => [name, { $ref: `#/components/headers/${name}` }]))
}
