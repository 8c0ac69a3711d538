import {
  type InputHTMLAttributes,
  type ReactNode,
  type Ref,
  type SelectHTMLAttributes,
  type TextareaHTMLAttributes,
  useId,
} from 'react'
import { classes } from '../classes.ts'
import { Icon } from '../icon.tsx'
import css from './field.module.css'

type Labels = { label: ReactNode; hint?: ReactNode; fault?: string | undefined }
/** The properties that tie a control to its label, its hint and its fault. */
type Control = {
  id: string
  className: string | undefined
  'aria-invalid': true | undefined
  'aria-describedby': string | undefined
}
type FieldProps = Labels & { className?: string | undefined; children: (control: Control) => ReactNode }

/** A control with its label, a hint, and what is wrong with its value. */
export function Field({ label, hint, fault, className, children }: FieldProps) {
  const id = useId()
  const described = [hint ? `${id}-hint` : '', fault ? `${id}-fault` : ''].filter(Boolean).join(' ')
  return (
    <div className={classes(css.field, className)}>
      <label htmlFor={id} className={css.label}>
        {label}
      </label>
      {children({
        id,
        className: css.input,
        'aria-invalid': fault ? true : undefined,
        'aria-describedby': described || undefined,
      })}
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

type TextProps = InputHTMLAttributes<HTMLInputElement> & Labels & { ref?: Ref<HTMLInputElement> }

export const TextField = ({ label, hint, fault, className, ...others }: TextProps) => (
  <Field label={label} hint={hint} fault={fault} className={className}>
    {(control) => <input {...others} {...control} />}
  </Field>
)

export const LinesField = ({ label, hint, fault, ...others }: TextareaHTMLAttributes<HTMLTextAreaElement> & Labels) => (
  <Field label={label} hint={hint} fault={fault}>
    {(control) => <textarea {...others} {...control} />}
  </Field>
)

/** `children`: its options. */
export const SelectField = ({ label, hint, fault, ...others }: SelectHTMLAttributes<HTMLSelectElement> & Labels) => (
  <Field label={label} hint={hint} fault={fault}>
    {(control) => (
      <span className={css.select}>
        <select {...others} {...control} />
        <Icon name="down" size={14} className={css.arrow} />
      </span>
    )}
  </Field>
)
