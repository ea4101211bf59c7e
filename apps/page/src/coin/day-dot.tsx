/** Marks a day without making its row higher; a screen reader and a pointer get the words. */
export function Dot({ kind, text }: { kind: 'running' | 'partial'; text?: string }) {
  return (
    <span class={`dot ${kind}`} title={text}>
      {text && <span class="unseen">{text}</span>}
    </span>
  )
}
