import { useQuery } from '@tanstack/react-query'
import type { Contact, ContactWrite } from '../../../client/src/generated/schemas.ts'
import { fieldsQuery } from '../../fields/field-queries.ts'
import { CONTACT_TEXTS } from '../../generated/lists.ts'
import { contactText } from '../../texts/contacts.ts'
import { labelOf } from '../../texts/format.ts'
import { text } from '../../texts/text.ts'
import { type ShownField, shownFields } from '../contact-fields.ts'
import { FieldValue } from '../field-value.tsx'
import { EditableField } from './editable-field.tsx'
import css from './section.module.css'
import { TagsField } from './tags-field.tsx'

const { record } = contactText

/** The texts that are edited here; the head of the record shows its source. */
const MEMBERS = CONTACT_TEXTS.filter(({ name }) => name !== 'source' && name !== 'source_type')

/** The fields of a contact: its own, those that are defined, by category, and those without a definition. */
export function FieldsSection({ contact }: { contact: Contact }) {
  return (
    <section className={css.section} aria-label={record.details}>
      <h3 className={css.title}>{record.details}</h3>
      <dl className={css.facts}>
        {MEMBERS.map(({ name, body }) => (
          <EditableField
            key={name}
            contact={contact}
            label={labelOf(name)}
            type="text"
            value={contact[name]}
            shown={name === 'phone' && contact.phone !== null ? text.phoneNumber(contact.phone) : contact[name]}
            toWrite={(value): ContactWrite => ({ [body]: value })}
          />
        ))}
        <TagsField contact={contact} />
      </dl>
      <CustomFields contact={contact} />
    </section>
  )
}

function CustomFields({ contact }: { contact: Contact }) {
  const { data: definitions, isPending } = useQuery(fieldsQuery)
  // Until the definitions are there, every field would be shown without its name.
  if (isPending) return null
  const { groups, retired, others } = shownFields(contact.custom_fields, definitions ?? [])
  return (
    <>
      {[...groups].map(([category, fields]) => (
        <Group key={category} title={category} contact={contact} fields={fields} />
      ))}
      {others.length > 0 && <Group title={record.otherFields} contact={contact} fields={others} />}
      {retired.length > 0 && (
        <>
          <h4 className={css.group}>{record.retiredFields}</h4>
          <dl className={css.facts}>
            {retired.map(({ key, displayName, type }) => (
              <div key={key} className={css.fact}>
                <dt>{displayName}</dt>
                <dd>
                  <FieldValue type={type} value={contact.custom_fields[key]} />
                </dd>
              </div>
            ))}
          </dl>
        </>
      )}
    </>
  )
}

type GroupProps = { title: string; contact: Contact; fields: readonly ShownField[] }

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
