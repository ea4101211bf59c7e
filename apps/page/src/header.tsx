import type { Language } from './text/format.ts'
import { useView } from './view.ts'

export function Header({ onLanguage }: { onLanguage: (language: Language) => void }) {
  const { t, language } = useView()
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
      </div>
    </header>
  )
}
