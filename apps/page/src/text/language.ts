import type { Texts } from './en.ts'

export type Language = 'en' | 'ko'

/** A language's texts, and its names of coins by symbol where they differ from the API's. */
export interface Words {
  readonly language: Language
  readonly t: Texts
  readonly names: Readonly<Record<string, string>>
}

/** Loads the words of one language; a reader rarely needs the other's. */
export async function loadWords(language: Language): Promise<Words> {
  if (language === 'en') return { language, t: (await import('./en.ts')).en, names: {} }
  const [{ ko }, { default: names }] = await Promise.all([import('./ko.ts'), import('./korean-names.json')])
  return { language, t: ko, names }
}

/** The chosen language, else the first of the browser's that the page has, else English. */
export function pickLanguage(chosen: string | null, browser: readonly string[]): Language {
  const languages = [chosen ?? '', ...browser].map(tag => tag.toLowerCase().split('-')[0])
  return languages.find(language => language === 'ko' || language === 'en') ?? 'en'
}

/** A text with its placeholder filled in. */
export function fill(text: string, value: string): string {
  return text.replace('{x}', value)
}
