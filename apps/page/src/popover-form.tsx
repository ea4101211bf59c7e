import type { ComponentChildren } from 'preact'
import { useId, useRef, useState } from 'preact/hooks'

export interface PopoverFormProps {
  readonly kind: 'alert' | 'bank'
  /** On the button that opens the form. */
  readonly label: ComponentChildren
  readonly name: string
  readonly children: ComponentChildren
  /** Takes the entry, or returns why it is refused. */
  readonly onSubmit: (entered: FormData) => string | undefined
}

/** A button and the form that it opens. The form closes once its entry is accepted. */
export function PopoverForm({ kind, label, name, children, onSubmit }: PopoverFormProps) {
  const form = useRef<HTMLFormElement>(null)
  const [refusal, refuse] = useState<string>()
  const id = useId()
  const submit = (event: Event & { currentTarget: HTMLFormElement }) => {
    event.preventDefault()
    const reason = onSubmit(new FormData(event.currentTarget))
    refuse(reason)
    if (reason === undefined) form.current?.hidePopover()
  }
  return (
    <div class={`popover ${kind}`}>
      <button type="button" title={name} popoverTarget={id}>
        {label}
      </button>
      <form ref={form} id={id} popover="auto" onSubmit={submit} aria-label={name}>
        <p>{name}</p>
        {children}
        {refusal && <p role="alert">{refusal}</p>}
      </form>
    </div>
  )
}
