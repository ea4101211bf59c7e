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
export function routesOf(json: string): string {
  const { components } = JSON.parse(json)
  // Puts the target in place of each `$ref`. Nothing that is shown lies behind two of them.
  const document: { paths: Record<string, PathItem> } = JSON.parse(json, (_key, value) => {
    const [, kind, name] = value?.$ref?.match(/^#\/components\/(\w+)\/(.+)$/) ?? []
    return kind ? components[kind][name] : value
  })
  return Object.entries(document.paths)
    .map(([path, item]) => routeOf(path, item))
    .join('\n\n')
}

function routeOf(path: string, { parameters = [], get }: PathItem): string {
  const { schema, example } = get.responses['200']?.content?.['application/json'] ?? { schema: {} }
  return [
    `### GET /api/v1${path}`,
    get.summary,
    table(
      ['parameter', 'in', 'meaning'],
      parameters.map(parameter => [`\`${parameter.name}\``, parameter.in, parameter.description]),
    ),
    table(['field', 'type', 'meaning'], fieldsOf(schema)),
    `Example answer:\n\n\`\`\`json\n${JSON.stringify(example, undefined, 2)}\n\`\`\``,
    table(
      ['status', 'meaning'],
      Object.entries(get.responses).map(([status, { description }]) => [status, description]),
    ),
  ]
    .filter(Boolean)
    .join('\n\n')
}

/** One row per field, those of a list's elements below the list. */
function fieldsOf(schema: Schema, prefix = ''): string[][] {
  return Object.entries(schema.properties ?? {}).flatMap(([name, field]) => {
    const type = field.const === undefined ? (field.type ?? '') : `\`${field.const}\``
    if (!field.description) throw new Error(`the reference does not explain ${prefix}${name}`)
    const row = [`\`${prefix}${name}\``, type, field.description]
    return field.items ? [row, ...fieldsOf(field.items, `${prefix}${name}[].`)] : [row]
  })
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  if (rows.length === 0) return ''
  const line = (cells: readonly string[]) =>
    `| ${cells.map(cell => cell.replaceAll('|', '\\|')).join(' | ')} |`
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n')
}
