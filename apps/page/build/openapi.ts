import type { ReferenceWords } from './words.ts'

/** The parts of an OpenAPI document's path that the reference page shows. */
interface PathItem {
  readonly parameters?: readonly {
    readonly name: string
    readonly in: string
    readonly description: string
  }[]
  readonly get: { readonly summary: string; readonly responses: Readonly<Record<string, Documented>> }
}

interface Documented {
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
  const { components } = JSON.parse(json)
  // Puts the target in place of each `$ref`. Nothing that is shown lies behind two of them.
  const document: { paths: Record<string, PathItem> } = JSON.parse(json, (_key, value) => {
    const [, kind, name] = value?.$ref?.match(/^#\/components\/(\w+)\/(.+)$/) ?? []
    return kind ? components[kind][name] : value
  })
  return Object.entries(document.paths)
    .map(([path, item]) => routeOf(path, item, words))
    .join('\n\n')
}

function routeOf(path: string, { parameters = [], get }: PathItem, words: ReferenceWords): string {
  const { summaries, meanings, statuses } = words
  const { schema, example } = get.responses['200']?.content?.['application/json'] ?? { schema: {} }
  return [
    `### GET /api/v1${path}`,
    summaries[path] ?? get.summary,
    table(
      words.parameters,
      parameters.map(parameter => [
        `\`${parameter.name}\``,
        parameter.in,
        meanings[parameter.name] ?? parameter.description,
      ]),
    ),
    table(words.fields, fieldsOf(schema, words)),
    `${words.example}\n\n\`\`\`json\n${JSON.stringify(example, undefined, 2)}\n\`\`\``,
    table(
      words.answers,
      Object.entries(get.responses).map(([status, { description }]) => [
        status,
        statuses[status] ?? description,
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
    const meaning = words.meanings[name] ?? field.description
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
