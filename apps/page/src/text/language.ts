import { en, type Texts } from './en.ts'
import { ko } from './ko.ts'

/** Languages of the page. */
export type Language = 'en' | 'ko'

/** All texts by language. */
export const dictionaries: Readonly<Record<Language, Texts>> = { en, ko }

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
