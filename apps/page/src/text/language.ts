import type { Texts } from './en.ts'

/** Languages of the page. */
export type Language = 'en' | 'ko'

/** A language's texts, and its names of coins by symbol where they differ from the API's. */
export interface Words {
  readonly language: Language
  readonly t: Texts
  readonly names: Readonly<Record<string, string>>
}

/** Loads the words of one language: nobody needs the other's. */
export async function loadWords(language: Language): Promise<Words> {
  if (language === 'en') return { language, t: (await import('./en.ts')).en, names: {} }
  const [{ ko }, { default: names }] = await Promise.all([import('./ko.ts'), import('./korean-names.json')])
  return { language, t: ko, names }
}

/** The chosen language, else the first of the browser's that the page has, else English. */
export function pickLanguage(chosen: string | null, browser: readonly string[]): Language {
  const known = (tag: string | null): Language | undefined => {
    const [primary] = (tag ?? '').toLowerCase().split('-')
    return primary === 'ko' || primary === 'en' ? primary : undefined
  }
  return known(chosen) ?? browser.map(known).find(language => language !== undefined) ?? 'en'
}

/** A text with its gap filled in. */
export function fill(text: string, value: string): string {
  return text.replace('{x}', value)
}
