import { useQuery } from '@tanstack/react-query'
import type { Contact, ContactWrite, CustomField } from '../../client/src/generated/schemas.ts'
import { contactText } from '../texts/contacts.ts'
import { text } from '../texts/text.ts'
import { fieldsQuery } from './contact-queries.ts'
import { EditableField } from './editable-field.tsx'
import { typeOf } from './field-value.tsx'
import css from './section.module.css'
import { TagsField } from './tags-field.tsx'

const { record } = contactText

/** The members of a contact that are texts, with their names in a write. */
const MEMBERS = [
  { name: 'email', body: 'email' },
  { name: 'phone', body: 'phone' },
  { name: 'first_name', body: 'firstName' },
  { name: 'last_name', body: 'lastName' },
  { name: 'status', body: 'status' },
] as const

/** The fields of a contact: its own, those that are defined, by category, and those without a definition. */
export function FieldsSection({ contact }: { contact: Contact }) {
  const { data: fields = [] } = useQuery(fieldsQuery)
  const defined = Map.groupBy(
    fields.filter(({ visibility }) => visibility),
    ({ category }) => category ?? record.fields,
  )
  const keys = new Set(fields.map(({ key }) => key))
  const others = Object.entries(contact.custom_fields).filter(([key]) => !keys.has(key))
  return (
    <section className={css.section} aria-label={record.details}>
      <h3 className={css.title}>{record.details}</h3>
      <dl className={css.facts}>
        {MEMBERS.map(({ name, body }) => (
          <EditableField
            key={name}
            contact={contact}
            label={record.names[name]}
            type="text"
            value={contact[name]}
            shown={name === 'phone' && contact.phone !== null ? text.phoneNumber(contact.phone) : contact[name]}
            toWrite={(value): ContactWrite => ({ [body]: value })}
          />
        ))}
        <TagsField contact={contact} />
      </dl>
      {[...defined].map(([category, members]) => (
        <Group key={category} title={category} contact={contact} fields={members} />
      ))}
      {others.length > 0 && (
        <Group
          title={record.otherFields}
          contact={contact}
          fields={others.map(([key, value]) => ({ key, displayName: key, type: typeOf(value), allowedValues: null }))}
        />
      )}
    </section>
  )
}

type GroupProps = {
  title: string
  contact: Contact
  fields: readonly Pick<CustomField, 'key' | 'displayName' | 'type' | 'allowedValues'>[]
}

function Group({ title, contact, fields }: GroupProps) {
  return (
    <>
      <h4 className={css.group}>{title}</h4>
      <dl className={css.facts}>
        {fields.map(({ key, displayName, type, allowedValues }) => (
          <EditableField
            key={key}
            contact={contact}
            label={displayName}
            type={type}
            value={contact.custom_fields[key]}
            allowedValues={allowedValues}
            toWrite={(value): ContactWrite => ({ customFields: { [key]: value } })}
          />
        ))}
      </dl>
    </>
  )
}
