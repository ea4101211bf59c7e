import { KimchiError, messageOf } from './errors.ts'

/** One configuration value: its description, its default, and how its text is parsed. */
export interface Setting<T> {
  readonly description: string
  /** The text used when the variable is unset or empty; undefined when the setting may stay unset. */
  readonly default: string | undefined
  /** What is allowed, for error messages and docs/configuration.md: `an integer from 0 to 65535`. */
  readonly allowed: string
  /** True when the value may hold a password and must not be printed. */
  readonly sensitive?: boolean
  /** The value of a text, or undefined for one that is not allowed. Never throws. */
  readonly parse: (text: string) => T | undefined
}

/** Settings by the name of their environment variable. */
export type Settings = Readonly<Record<string, Setting<unknown>>>

export type SettingValues<S extends Settings> = {
  readonly [Name in keyof S]: S[Name] extends Setting<infer T> ? T : never
}

/** The user and password of a URL. */
const CREDENTIALS = /\/\/[^/\s,]*@/g

/**
 * Reads all settings from an environment.
 * @param rules returns complaints about values that don't go together; it is not given the unreadable ones
 * @throws KimchiError `KIMCHI_ERR_CONFIG` naming every bad variable, its value and what is allowed, one per
 *   line
 */
export function readSettings<S extends Settings>(
  settings: S,
  env: Readonly<Record<string, string | undefined>>,
  rules: (values: Partial<SettingValues<S>>) => readonly string[] = () => [],
): SettingValues<S> {
  const values: Record<string, unknown> = {}
  const problems: string[] = []
  for (const [name, setting] of Object.entries(settings)) {
    const text = env[name]?.trim() || setting.default
    if (text === undefined) continue
    const value = setting.parse(text)
    const shown = setting.sensitive ? '(hidden)' : JSON.stringify(text.replace(CREDENTIALS, '//(hidden)@'))
    if (value === undefined) problems.push(`${name} must be ${setting.allowed}, got: ${shown}`)
    values[name] = value
  }
  problems.push(...rules(values as Partial<SettingValues<S>>))
  if (problems.length === 0) return values as SettingValues<S>
  throw new KimchiError('KIMCHI_ERR_CONFIG', ['bad configuration:', ...problems].join('\n  '))
}

/**
 * The error for a value that can't be used: the setting, what would do, what was given, and what the system says.
 * @param allowed what would do: `an address of this machine`
 */
export function settingError(name: string, allowed: string, given: unknown, cause: unknown): KimchiError {
  const message = `${name} must be ${allowed}, got: ${given} (${messageOf(cause)})`
  return new KimchiError('KIMCHI_ERR_CONFIG', message, { cause })
}

export function integerSetting(
  description: string,
  fallback: number,
  { min, max }: { min: number; max: number },
): Setting<number> {
  return {
    description,
    default: String(fallback),
    allowed: `an integer from ${min} to ${max}`,
    parse: text =>
      /^\d{1,15}$/.test(text) && Number(text) >= min && Number(text) <= max ? Number(text) : undefined,
  }
}

export function choiceSetting<const C extends string>(
  description: string,
  fallback: NoInfer<C>,
  choices: readonly C[],
): Setting<C> {
  return {
    description,
    default: fallback,
    allowed: `one of ${choices.join(', ')}`,
    parse: text => choices.find(choice => choice === text),
  }
}

/**
 * A setting for one or more absolute URLs, in the order in which they are tried, of the default's protocol (`https:`,
 * `wss:`) or the same without TLS. Trailing slashes are removed. Logs and /ready name these URLs, so a user or
 * password in one is refused.
 */
export function urlListSetting(
  description: string,
  fallback: readonly [string, ...string[]],
): Setting<readonly string[]> {
  const { protocol: secure } = new URL(fallback[0])
  const protocols = [secure, secure.replace('s:', ':')]
  const starts = protocols.map(protocol => `${protocol}//`).join(' or ')
  const isAllowed = (text: string) => {
    const url = URL.canParse(text) ? new URL(text) : undefined
    return url !== undefined && protocols.includes(url.protocol) && url.username + url.password === ''
  }
  return {
    description,
    default: fallback.join(','),
    allowed: `${starts} URLs without user or password, separated by commas`,
    parse: text => {
      const urls = text.split(',').map(url => url.trim().replace(/\/+$/, ''))
      return urls.every(isAllowed) ? [...new Set(urls)] : undefined
    },
  }
}

/** A setting for any text without spaces, such as a host name or an id. */
export function wordSetting(description: string, fallback: string): Setting<string> {
  return {
    description,
    default: fallback,
    allowed: 'a text without spaces',
    parse: text => (/^\S+$/.test(text) ? text : undefined),
  }
}
