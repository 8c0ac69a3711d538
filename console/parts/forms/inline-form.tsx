import { type FormEvent, type KeyboardEvent, type ReactNode, useId } from 'react'
import { text } from '../../texts/text.ts'
import { Button } from '../button.tsx'
import css from './inline-form.module.css'

type Props = {
  label: string
  isBusy: boolean
  /** The fault of the value. */
  fault: string | undefined
  onSubmit: () => void
  onCancel: () => void
  /** The control, with the properties that name it and tie it to its fault. */
  children: (control: {
    'aria-label': string
    'aria-invalid': true | undefined
    'aria-describedby': string | undefined
  }) => ReactNode
}

/** A control in the place of a value, with its fault below: Enter stores, Escape leaves the value as it was. */
export function InlineForm({ label, isBusy, fault, onSubmit, onCancel, children }: Props) {
  const id = useId()
  const submit = (event: FormEvent) => {
    event.preventDefault()
    if (!isBusy) onSubmit()
  }
  const leave = (event: KeyboardEvent) => {
    if (event.key !== 'Escape') return
    event.stopPropagation()
    onCancel()
  }
  return (
    <form className={css.form} onSubmit={submit} onKeyDown={leave} noValidate>
      <div className={css.line}>
        {children({
          'aria-label': label,
          'aria-invalid': fault ? true : undefined,
          'aria-describedby': fault ? id : undefined,
        })}
        <Button type="submit" look="primary" isBusy={isBusy}>
          {text.save}
        </Button>
        <Button look="quiet" onClick={onCancel}>
          {text.cancel}
        </Button>
      </div>
      {fault && (
        <p id={id} role="alert" className={css.fault}>
          {fault}
        </p>
      )}
    </form>
  )
}

/** The class of a control of such a form. */
export const controlClass = css.control ?? ''
