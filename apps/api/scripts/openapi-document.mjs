/**
 * The contract in code: src/contract as it is for tests, built for the script.
 * @typedef {typeof import('../src/contract/errors.ts') & typeof import('../src/contract/schemas.ts')} Contract
 */

/**
 * A response of the live route; its premium follows from its prices.
 * @type {import('../src/contract/schemas.ts').LiveList}
 */
export const LIVE_LIST_EXAMPLE = {
  result: 'ok',
  updated_at: '2026-11-20T13:05:00',
  count: 1,
  note: 'Premium is USDT-based (Upbit KRW-USDT last price). Times are UTC.',
  data: [
    {
      symbol: 'BTC',
      name: 'Bitcoin',
      premium_pct: 1.2341,
      upbit_krw: 143_500_000,
      binance_usdt: 101_250.5,
      usdt_krw: 1_400,
      snapshot_at: '2026-11-20T13:05:00',
    },
  ],
}

/**
 * A response of the daily route.
 * @type {import('../src/contract/schemas.ts').History}
 */
const HISTORY_EXAMPLE = {
  result: 'ok',
  symbol: 'BTC',
  name: 'Bitcoin',
  count: 1,
  data: [
    {
      date: '2026-11-20',
      open_pct: 1.1021,
      high_pct: 1.5,
      low_pct: 0.9124,
      close_pct: 1.2341,
      avg_pct: 1.1873,
      samples: 786,
    },
  ],
}

const text = { type: 'string' }

const headers = {
  'Access-Control-Allow-Origin': { description: 'Any page may read the answer.', schema: { const: '*' } },
  'Access-Control-Expose-Headers': { schema: text },
  'Cache-Control': {
    description:
      'Seconds until the next minute’s answer is due, for as long as which this one is the newest.',
    schema: text,
  },
  ETag: {
    description:
      'Strong; the same on every replica. Send it as `If-None-Match` to be told 304 when nothing changed.',
    schema: text,
  },
  Vary: { schema: { const: 'Accept-Encoding' } },
  Allow: { schema: text },
  'Retry-After': { description: 'Seconds.', schema: text },
}

/** @typedef {keyof typeof headers} HeaderName */

/** @type {readonly HeaderName[]} */
const ON_EVERY_ANSWER = ['Access-Control-Allow-Origin', 'Access-Control-Expose-Headers']
/** @type {readonly HeaderName[]} */
const ON_DOCUMENTS = [...ON_EVERY_ANSWER, 'Cache-Control', 'ETag', 'Vary']

/** Statuses that any request may get, whatever it asks: broken HTTP, another method, limits of an edge. */
const ANY_REQUEST = [400, 405, 408, 429, 431, 500, 503]

const EXAMPLES = { LiveList: LIVE_LIST_EXAMPLE, History: HISTORY_EXAMPLE }

/**
 * The contract as an OpenAPI 3.1 document, for `docs/openapi.json`. Everything in it comes from the schemas
 * and the error table.
 * @param {Contract} contract
 */
export function openApiDocument(contract) {
  const { ALLOWED_METHODS, ERRORS, errorSchema } = contract
  const { daysSchema, historySchema, liveListSchema, symbolSchema } = contract
  return {
    openapi: '3.1.0',
    info: {
      title: 'Korean price gap (premium)',
      version: '1.0.0',
      description:
        'The gap in percent between the price of crypto coins on Upbit (KRW) and on Binance (USDT), every minute, and its history by UTC day. Free, no key, callable from any page.',
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [
      {
        url: '{origin}/api/v1',
        description: 'Wherever the service runs.',
        variables: {
          origin: {
            default: 'http://127.0.0.1:3000',
            description: 'Scheme, host and port; the default is that of `npm start`.',
          },
        },
      },
    ],
    security: [],
    paths: {
      '/kimchi-premium': {
        get: operation('getLivePremium', 'The latest premium of every tracked coin', 'LiveList'),
        head: operation('headLivePremium', 'The headers of the live list', undefined),
      },
      '/kimchi-premium/{symbol}/daily': {
        parameters: [
          { name: 'symbol', in: 'path', required: true, schema: symbolSchema, example: 'BTC' },
          daysParameter(daysSchema),
        ],
        get: operation('getDailyPremium', 'The daily premium history of one coin', 'History', [404]),
        head: operation('headDailyPremium', 'The headers of a history', undefined, [404]),
      },
    },
    components: {
      schemas: { LiveList: liveListSchema, History: historySchema, Error: errorSchema },
      headers: { ...headers, Allow: { schema: { const: ALLOWED_METHODS } } },
      responses: Object.fromEntries(
        [404, ...ANY_REQUEST].map(status => [`Error${status}`, errorResponse(ERRORS, status)]),
      ),
    },
  }
}

/** @param {Contract['daysSchema']} schema */
function daysParameter(schema) {
  return {
    name: 'days',
    in: 'query',
    required: false,
    description: 'How many rows, newest counted first; given once. Other query keys are ignored.',
    schema,
    example: 30,
  }
}

/**
 * @param {string} operationId
 * @param {string} summary
 * @param {keyof typeof EXAMPLES | undefined} document
 */
function operation(operationId, summary, document, errors = /** @type {readonly number[]} */ ([])) {
  const statuses = [...ANY_REQUEST, ...errors].sort((a, b) => a - b)
  return {
    operationId,
    summary,
    responses: {
      200: {
        description: 'The newest data.',
        headers: references(ON_DOCUMENTS),
        ...(document && content(document, EXAMPLES[document])),
      },
      304: { description: 'What the caller has is still the newest.', headers: references(ON_DOCUMENTS) },
      ...Object.fromEntries(
        statuses.map(status => [status, { $ref: `#/components/responses/Error${status}` }]),
      ),
    },
  }
}

/**
 * Its examples are the error's own words, one per code.
 * @param {Contract['ERRORS']} errors
 * @param {number} status
 */
function errorResponse(errors, status) {
  const codes = Object.entries(errors).filter(([, error]) => error.status === status)
  /** @type {readonly HeaderName[]} */
  const own = status === 405 ? ['Allow'] : status === 503 || status === 429 ? ['Retry-After'] : []
  const examples = codes.map(([code, { message }]) => [code, { value: { result: 'error', code, message } }])
  return {
    description: codes.map(([code, { message }]) => `\`${code}\`: ${message}.`).join(' '),
    headers: references([...ON_EVERY_ANSWER, 'Cache-Control', ...own]),
    content: {
      'application/json': {
        schema: { $ref: '#/components/schemas/Error' },
        examples: Object.fromEntries(examples),
      },
    },
  }
}

/** @param {string} schema @param {unknown} example */
function content(schema, example) {
  return {
    content: { 'application/json': { schema: { $ref: `#/components/schemas/${schema}` }, example } },
  }
}

/** @param {readonly HeaderName[]} names */
function references(names) {
  return Object.fromEntries(names.map(name => [name, { $ref: `#/components/headers/${name}` }]))
}
