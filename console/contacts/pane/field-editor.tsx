import { useState } from 'react'
import { controlClass, InlineForm } from '../../parts/forms/inline-form.tsx'
import { contactText } from '../../texts/contacts.ts'
import { text } from '../../texts/text.ts'
import type { FieldType } from '../field-value.tsx'
import { fromInput, toInput } from './field-input.ts'

type Props = {
  label: string
  type: FieldType
  value: unknown
  allowedValues: readonly string[] | null
  isBusy: boolean
  /** The fault that the service found in the last value. */
  fault: string | undefined
  onSave: (value: unknown) => void
  onCancel: () => void
}

const INPUT_TYPES: Partial<Record<FieldType, string>> = { date: 'date', datetime: 'datetime-local' }

/** The control for a value of a kind. */
export function FieldEditor({ label, type, value, allowedValues, isBusy, fault, onSave, onCancel }: Props) {
  const [input, setInput] = useState(() => toInput(type, value))
  const [ownFault, setOwnFault] = useState<string>()
  const save = () => {
    const read = fromInput(type, input)
    setOwnFault('fault' in read ? read.fault : undefined)
    if ('value' in read) onSave(read.value)
  }
  const choices = choicesOf(type, allowedValues, input)
  const change = ({ target }: { target: { value: string } }) => setInput(target.value)
  return (
    <InlineForm label={label} isBusy={isBusy} fault={ownFault ?? fault} onSubmit={save} onCancel={onCancel}>
      {(named) => {
        const control = { ...named, className: controlClass, value: input, onChange: change, autoFocus: true }
        if (choices !== undefined) {
          return (
            <select {...control}>
              {choices.map((choice) => (
                <option key={choice.value} value={choice.value}>
                  {choice.label}
                </option>
              ))}
            </select>
          )
        }
        if (type === 'json') return <textarea {...control} rows={4} dir="ltr" />
        return (
          <input
            {...control}
            type={INPUT_TYPES[type] ?? 'text'}
            inputMode={type === 'number' ? 'decimal' : undefined}
          />
        )
      }}
    </InlineForm>
  )
}

function choicesOf(type: FieldType, allowedValues: readonly string[] | null, current: string) {
  const none = { value: '', label: contactText.record.empty }
  if (type === 'boolean') {
    return [none, { value: 'true', label: text.contact.yes }, { value: 'false', label: text.contact.no }]
  }
  if (type !== 'select' || allowedValues === null) return undefined
  // A value that is not allowed any more stays, until another one is chosen.
  const values = current === '' || allowedValues.includes(current) ? allowedValues : [current, ...allowedValues]
  return [none, ...values.map((value) => ({ value, label: value }))]
}
