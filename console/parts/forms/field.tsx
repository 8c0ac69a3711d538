import { type InputHTMLAttributes, type ReactNode, type Ref, useId } from 'react'
import { classes } from '../classes.ts'
import css from './field.module.css'

type Props = InputHTMLAttributes<HTMLInputElement> & {
  label: ReactNode
  hint?: ReactNode
  fault?: string | undefined
  ref?: Ref<HTMLInputElement>
}

/** A text field with its label, a hint, and what is wrong with its value. */
export function TextField({ label, hint, fault, className, ...others }: Props) {
  const id = useId()
  const described = [hint ? `${id}-hint` : '', fault ? `${id}-fault` : ''].filter(Boolean).join(' ')
  return (
    <div className={classes(css.field, className)}>
      <label htmlFor={id} className={css.label}>
        {label}
      </label>
      <input
        {...others}
        id={id}
        className={css.input}
        aria-invalid={fault ? true : undefined}
        aria-describedby={described || undefined}
      />
      {fault && (
        <p id={`${id}-fault`} className={css.fault}>
          {fault}
        </p>
      )}
      {hint && (
        <p id={`${id}-hint`} className={css.hint}>
          {hint}
        </p>
      )}
    </div>
  )
}
