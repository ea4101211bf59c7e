import type { ReferenceWords } from './words.ts'

/** The parts of an OpenAPI document that the reference page shows. */
interface OpenApi {
  readonly paths: Readonly<Record<string, PathItem>>
}

interface PathItem {
  readonly parameters?: readonly Parameter[]
  readonly get: { readonly summary: string; readonly responses: Readonly<Record<string, Answer>> }
}

interface Parameter {
  readonly name: string
  readonly in: string
  readonly description: string
}

interface Answer {
  readonly description: string
  readonly content?: { readonly 'application/json': { readonly schema: Schema; readonly example?: unknown } }
}

interface Schema {
  readonly type?: string
  readonly description?: string
  readonly const?: unknown
  readonly properties?: Readonly<Record<string, Schema>>
  readonly items?: Schema
}

/**
 * The routes of an OpenAPI document as Markdown: parameters, fields, an example, answers.
 * @throws Error when a field has no meaning
 */
export function routesOf(json: string, words: ReferenceWords): string {
  const document = JSON.parse(json)
  // Puts the target in place of each `$ref`. Nothing that is shown lies behind two of them.
  const { paths }: OpenApi = JSON.parse(json, (_key, value) =>
    typeof value?.$ref === 'string'
      ? value.$ref
          .slice(2)
          .split('/')
          .reduce((part: Record<string, unknown>, step: string) => part[step], document)
      : value,
  )
  return Object.entries(paths)
    .map(([path, item]) => routeOf(path, item, words))
    .join('\n\n')
}

function routeOf(path: string, { parameters = [], get }: PathItem, words: ReferenceWords): string {
  const { summaries, meanings, statuses } = words
  const { schema, example } = get.responses['200']?.content?.['application/json'] ?? { schema: {} }
  return [
    `### GET /api/v1${path}`,
    summaries?.[path] ?? get.summary,
    table(
      words.parameters,
      parameters.map(({ name, in: place, description }) => [
        `\`${name}\``,
        place,
        meanings?.[name] ?? description,
      ]),
    ),
    table(words.fields, fieldsOf(schema, words)),
    `${words.example}\n\n\`\`\`json\n${JSON.stringify(example, undefined, 2)}\n\`\`\``,
    table(
      words.answers,
      Object.entries(get.responses).map(([status, { description }]) => [
        status,
        statuses?.[status] ?? description,
      ]),
    ),
  ]
    .filter(Boolean)
    .join('\n\n')
}

/** One row per field, those of a list's elements below the list. */
function fieldsOf(schema: Schema, words: ReferenceWords, prefix = ''): string[][] {
  return Object.entries(schema.properties ?? {}).flatMap(([name, field]) => {
    const type = field.const === undefined ? (field.type ?? '') : `\`${field.const}\``
    const meaning = words.meanings?.[name] ?? field.description
    if (!meaning) throw new Error(`the reference does not explain ${prefix}${name}`)
    const row = [`\`${prefix}${name}\``, type, meaning]
    return field.items ? [row, ...fieldsOf(field.items, words, `${prefix}${name}[].`)] : [row]
  })
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  if (rows.length === 0) return ''
  const line = (cells: readonly string[]) =>
    `| ${cells.map(cell => cell.replaceAll('|', '\\|')).join(' | ')} |`
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n')
}
