import type { Language } from './text/language.ts'
import { fill } from './text/language.ts'
import { useView } from './view.ts'

/** Colours as the system has them, or one of the two. */
export type Theme = 'auto' | 'light' | 'dark'

const NEXT: Readonly<Record<Theme, Theme>> = { auto: 'light', light: 'dark', dark: 'auto' }
const SIGNS: Readonly<Record<Theme, string>> = { auto: '◐', light: '○', dark: '●' }

/** Name of the page and its two switches. */
export function Header({
  theme,
  onTheme,
  onLanguage,
}: {
  theme: Theme
  onTheme: (theme: Theme) => void
  onLanguage: (language: Language) => void
}) {
  const { t, language } = useView()
  const names = { auto: t.themeAuto, light: t.themeLight, dark: t.themeDark }
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
        <button
          type="button"
          aria-label={fill(t.theme, names[theme])}
          title={fill(t.theme, names[theme])}
          onClick={() => onTheme(NEXT[theme])}
        >
          <span aria-hidden="true">{SIGNS[theme]}</span>
        </button>
      </div>
    </header>
  )
}
