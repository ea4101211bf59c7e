import { ALLOWED_METHODS, ERRORS } from './errors.ts'
import { daysSchema, errorSchema, historySchema, liveListSchema, symbolSchema } from './schemas.ts'

const text = { type: 'string' } as const

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
  Allow: { schema: { const: ALLOWED_METHODS } },
  'Retry-After': { description: 'Seconds.', schema: text },
} as const

const ON_EVERY_ANSWER = ['Access-Control-Allow-Origin', 'Access-Control-Expose-Headers'] as const
const ON_DOCUMENTS = [...ON_EVERY_ANSWER, 'Cache-Control', 'ETag', 'Vary'] as const

/** The contract as an OpenAPI 3.1 document, for `docs/openapi.json`. Everything in it comes from the schemas and the error table. */
export function openApiDocument() {
  return {
    openapi: '3.1.0',
    info: {
      title: 'Korean price gap (premium)',
      version: '1.0.0',
      description:
        'The gap in percent between the price of crypto coins on Upbit (KRW) and on Binance (USDT), every minute, and its history by UTC day. Free, no key, callable from any page.',
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: '/api/v1' }],
    paths: {
      '/kimchi-premium': {
        get: operation('getLivePremium', 'The latest premium of every tracked coin', 'LiveList', []),
        head: operation('headLivePremium', 'The headers of the live list', undefined, []),
      },
      '/kimchi-premium/{symbol}/daily': {
        parameters: [
          { name: 'symbol', in: 'path', required: true, schema: symbolSchema, example: 'BTC' },
          daysParameter(),
        ],
        get: operation('getDailyPremium', 'The daily premium history of one coin', 'History', [400, 404]),
        head: operation('headDailyPremium', 'The headers of a history', undefined, [400, 404]),
      },
    },
    components: {
      schemas: { LiveList: liveListSchema, History: historySchema, Error: errorSchema },
      headers,
      // What is answered to requests that are none of the operations above: other paths and methods, broken HTTP.
      responses: Object.fromEntries(
        [400, 404, 405, 408, 417, 431].map(status => [`Error${status}`, errorResponse(status, 'Error')]),
      ),
    },
  }
}

function daysParameter() {
  return {
    name: 'days',
    in: 'query',
    required: false,
    description: 'How many rows, newest counted first; given once. Other query keys are ignored.',
    schema: daysSchema,
  }
}

function operation(
  operationId: string,
  summary: string,
  schema: 'LiveList' | 'History' | undefined,
  errors: readonly number[],
) {
  return {
    operationId,
    summary,
    responses: {
      200: {
        description: 'The newest data.',
        headers: references(ON_DOCUMENTS),
        ...(schema === undefined ? {} : content(schema)),
      },
      304: { description: 'What the caller has is still the newest.', headers: references(ON_DOCUMENTS) },
      ...Object.fromEntries([...errors, 500, 503].map(status => [status, errorResponse(status, schema)])),
    },
  }
}

function errorResponse(status: number, schema: string | undefined) {
  const codes = Object.entries(ERRORS).filter(([, error]) => error.status === status)
  const own = status === 405 ? ['Allow'] : status === 503 ? ['Retry-After'] : []
  return {
    description: codes.map(([code, { message }]) => `\`${code}\`: ${message}.`).join(' '),
    headers: references([...ON_EVERY_ANSWER, 'Cache-Control', ...own] as (keyof typeof headers)[]),
    ...(schema === undefined ? {} : content('Error')),
  }
}

function content(schema: string) {
  return { content: { 'application/json': { schema: { $ref: `#/components/schemas/${schema}` } } } }
}

function references(names: readonly (keyof typeof headers)[]) {
  return Object.fromEntries(names.map(name => [name, { $ref: `#/components/headers/${name}` }]))
}
