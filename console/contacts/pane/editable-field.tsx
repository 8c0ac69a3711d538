import { useEffect, useRef, useState } from 'react'
import type { Contact, ContactWrite } from '../../../client/src/generated/schemas.ts'
import { IconButton } from '../../parts/button.tsx'
import { contactText } from '../../texts/contacts.ts'
import { type FieldType, FieldValue } from '../field-value.tsx'
import { useContactChange } from '../use-contact-change.ts'
import { FieldEditor } from './field-editor.tsx'
import css from './section.module.css'

type Props = {
  contact: Contact
  label: string
  type: FieldType
  value: unknown
  /** The value as it is read, where that differs. */
  shown?: unknown
  allowedValues?: readonly string[] | null
  toWrite: (value: unknown) => ContactWrite
}

/** A value with a button that puts its editor in its place. */
export function EditableField({ contact, label, type, value, shown = value, allowedValues = null, toWrite }: Props) {
  const [isEditing, edit] = useState(false)
  const wasEdited = useRef(false)
  const button = useRef<HTMLButtonElement>(null)
  const { change, isBusy, fault, forget } = useContactChange(contact, () => edit(false))
  // The focus returns to the button that opened the editor.
  useEffect(() => {
    if (!isEditing && wasEdited.current) button.current?.focus()
    wasEdited.current = isEditing
  }, [isEditing])
  const cancel = () => {
    forget()
    edit(false)
  }
  return (
    <div className={css.fact}>
      <dt>{label}</dt>
      <dd>
        {isEditing ? (
          <FieldEditor
            label={label}
            type={type}
            value={value}
            allowedValues={allowedValues}
            isBusy={isBusy}
            fault={fault}
            onSave={(next) => change(toWrite(next))}
            onCancel={cancel}
          />
        ) : (
          <>
            <FieldValue type={type} value={shown} />
            <IconButton ref={button} icon="edit" label={contactText.record.edit(label)} onClick={() => edit(true)} />
          </>
        )}
      </dd>
    </div>
  )
}
