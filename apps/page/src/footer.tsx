import { useView } from './view.ts'

/** What the numbers mean, and where they come from. */
export function Footer() {
  const { t } = useView()
  return (
    <footer>
      <p>{t.basis}</p>
      <p>{t.bankBasis}</p>
      <p>
        <a href={t.referencePath}>{t.reference}</a>
      </p>
    </footer>
  )
}
