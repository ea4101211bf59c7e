import type { Language } from './text/format.ts'
import { fill } from './text/language.ts'
import { type Theme, useView } from './view.ts'

const NEXT: Readonly<Record<Theme, Theme>> = { auto: 'light', light: 'dark', dark: 'auto' }
const SIGNS: Readonly<Record<Theme, string>> = { auto: '◐', light: '○', dark: '●' }

export function Header({ onLanguage }: { onLanguage: (language: Language) => void }) {
  const { t, language, theme } = useView()
  const [chosen, choose] = theme
  const colours = fill(t.theme, { auto: t.themeAuto, light: t.themeLight, dark: t.themeDark }[chosen])
  const other = language === 'ko' ? 'en' : 'ko'
  return (
    <header class="top">
      <a class="brand" href="#/">
        <img src="/favicon.svg" width="28" height="28" alt="" />
        <span>
          <strong>{t.title}</strong>
          <span class="tagline">{t.tagline}</span>
        </span>
      </a>
      <div class="switches">
        <button type="button" lang={other} onClick={() => onLanguage(other)}>
          {other === 'ko' ? '한국어' : 'English'}
        </button>
        <button type="button" aria-label={colours} title={colours} onClick={() => choose(NEXT[chosen])}>
          <span aria-hidden="true">{SIGNS[chosen]}</span>
        </button>
      </div>
    </header>
  )
}
