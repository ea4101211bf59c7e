import type { Texts } from './en.ts'
import { createFormats, type Formats, type Language } from './format.ts'

/** What the page writes in a language. */
export interface Words {
  readonly language: Language
  readonly t: Texts
  readonly f: Formats
  /** A coin's name in the language; the API's own where there is none. */
  readonly nameOf: (coin: { readonly symbol: string; readonly name: string }) => string
}

/** Loads the words of one language; a reader rarely needs the other's. */
export async function loadWords(language: Language): Promise<Words> {
  const f = createFormats(language)
  if (language === 'en') return { language, t: (await import('./en.ts')).en, f, nameOf: coin => coin.name }
  const [{ ko }, { default: names }] = await Promise.all([import('./ko.ts'), import('./korean-names.json')])
  const nameOf: Words['nameOf'] = ({ symbol, name }) => (names as Record<string, string>)[symbol] ?? name
  return { language, t: ko, f, nameOf }
}

/** The chosen language, else the first of the browser's that the page has, else English. */
export function pickLanguage(chosen: string | null, browser: readonly string[]): Language {
  const languages = [chosen ?? '', ...browser].map(tag => tag.toLowerCase().split('-')[0])
  return languages.find(language => language === 'ko' || language === 'en') ?? 'en'
}

export function fill(text: string, value: string): string {
  return text.replace('{x}', value)
}
