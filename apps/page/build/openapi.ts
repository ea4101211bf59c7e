import type { ReferenceWords } from './words.ts'

/** The parts of an OpenAPI document that the reference page shows. */
export interface OpenApi {
  readonly paths: Readonly<Record<string, PathItem>>
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> }
}

interface PathItem {
  readonly parameters?: readonly Parameter[]
  readonly get?: {
    readonly summary?: string
    readonly parameters?: readonly Parameter[]
    readonly responses: Readonly<Record<string, Answer | Reference>>
  }
}

interface Reference {
  readonly $ref: string
}

interface Parameter {
  readonly name: string
  readonly in: string
  readonly description?: string
  readonly schema: Schema
}

interface Answer {
  readonly description: string
  readonly content?: Readonly<
    Record<string, { readonly schema: Schema | Reference; readonly example?: unknown }>
  >
}

interface Schema {
  readonly type?: string
  readonly description?: string
  readonly const?: unknown
  readonly minimum?: number
  readonly maximum?: number
  readonly default?: unknown
  readonly properties?: Readonly<Record<string, Schema | Reference>>
  readonly items?: Schema | Reference
}

/** The routes of the document as Markdown: parameters, fields, an example, answers. */
export function routesOf(document: OpenApi, words: ReferenceWords): string {
  return Object.entries(document.paths)
    .map(([path, item]) => routeOf(document, words, path, item))
    .join('\n\n')
}

function routeOf(
  document: OpenApi,
  words: ReferenceWords,
  path: string,
  { get, parameters = [] }: PathItem,
): string {
  if (!get) return ''
  const { columns, meanings, statuses } = words
  const answers = Object.entries(get.responses).map(
    ([status, answer]) => [status, resolve<Answer>(document, answer)] as const,
  )
  const [, good] = answers.find(([status]) => status === '200') ?? []
  const [body] = Object.values(good?.content ?? {})
  return [
    `### GET /api/v1${path}`,
    words.summaries[path] ?? get.summary,
    table(
      [columns.parameter, columns.place, columns.meaning],
      [...parameters, ...(get.parameters ?? [])].map(({ name, in: place, description, schema }) => [
        `\`${name}\``,
        place,
        words.summaries[path] && meanings[name]
          ? meanings[name]
          : [description, schema.description, limitsOf(schema)].filter(Boolean).join(' '),
      ]),
    ),
    body &&
      table(
        [columns.field, columns.type, columns.meaning],
        fieldsOf(document, words, resolve(document, body.schema), ''),
      ),
    body?.example && `${words.example}\n\n\`\`\`json\n${JSON.stringify(body.example, undefined, 2)}\n\`\`\``,
    table(
      [columns.status, columns.meaning],
      answers.map(([status, { description }]) => [status, statuses[status] ?? description]),
    ),
  ]
    .filter(Boolean)
    .join('\n\n')
}

/** One row per field, those of a list's elements below the list. @throws when a field has no meaning */
function fieldsOf(document: OpenApi, words: ReferenceWords, schema: Schema, prefix: string): string[][] {
  return Object.entries(schema.properties ?? {}).flatMap(([name, property]) => {
    const field = resolve<Schema>(document, property)
    const items = field.items && resolve<Schema>(document, field.items)
    const type = field.const === undefined ? (field.type ?? '') : `\`${field.const}\``
    const meaning = words.meanings[name] ?? field.description
    if (!meaning) throw new Error(`the reference does not explain ${prefix}${name}`)
    const row = [`\`${prefix}${name}\``, type, meaning]
    return items ? [row, ...fieldsOf(document, words, items, `${prefix}${name}[].`)] : [row]
  })
}

function limitsOf({ minimum, maximum, default: usual }: Schema): string {
  const range = minimum === undefined ? '' : `From ${minimum} to ${maximum}.`
  return usual === undefined ? range : `${range} ${usual} when left out.`
}

function resolve<T>(document: OpenApi, value: object): T {
  if (!('$ref' in value)) return value as T
  const steps = String(value.$ref).slice(2).split('/')
  const found = steps.reduce<unknown>((at, step) => (at as Record<string, unknown>)?.[step], document)
  if (found === undefined) throw new Error(`the OpenAPI document has no ${value.$ref}`)
  return found as T
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  if (rows.length === 0) return ''
  const line = (cells: readonly string[]) =>
    `| ${cells.map(cell => cell.replaceAll('|', '\\|')).join(' | ')} |`
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n')
}
