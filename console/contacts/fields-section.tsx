import { useQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import type { Contact, CustomField } from '../../client/src/generated/schemas.ts'
import { Badge } from '../parts/badge.tsx'
import { contactText } from '../texts/contacts.ts'
import { text } from '../texts/text.ts'
import { fieldsQuery } from './contact-queries.ts'
import { FieldValue, typeOf } from './field-value.tsx'
import css from './section.module.css'

const { record } = contactText
const NAMES = ['email', 'phone', 'first_name', 'last_name', 'status'] as const

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
        {NAMES.map((name) => (
          <Fact key={name} label={record.names[name]}>
            <FieldValue
              type="text"
              value={name === 'phone' && contact.phone !== null ? text.phoneNumber(contact.phone) : contact[name]}
            />
          </Fact>
        ))}
        <Fact label={record.tags}>
          <Tags tags={contact.tags} />
        </Fact>
      </dl>
      {[...defined].map(([category, members]) => (
        <Group key={category} title={category} fields={members} contact={contact} />
      ))}
      {others.length > 0 && (
        <>
          <h4 className={css.group}>{record.otherFields}</h4>
          <dl className={css.facts}>
            {others.map(([key, value]) => (
              <Fact key={key} label={key}>
                <FieldValue type={typeOf(value)} value={value} />
              </Fact>
            ))}
          </dl>
        </>
      )}
    </section>
  )
}

function Group({ title, fields, contact }: { title: string; fields: CustomField[]; contact: Contact }) {
  return (
    <>
      <h4 className={css.group}>{title}</h4>
      <dl className={css.facts}>
        {fields.map(({ key, displayName, type }) => (
          <Fact key={key} label={displayName}>
            <FieldValue type={type} value={contact.custom_fields[key]} />
          </Fact>
        ))}
      </dl>
    </>
  )
}

function Tags({ tags }: { tags: readonly string[] }) {
  if (tags.length === 0) return <span className={css.soft}>{record.noTags}</span>
  return (
    <span className={css.tags}>
      {tags.map((tag) => (
        <Badge key={tag}>{tag}</Badge>
      ))}
    </span>
  )
}

function Fact({ label, children }: { label: string; children: ReactNode }) {
  return (
    <div className={css.fact}>
      <dt>{label}</dt>
      <dd dir="auto">{children}</dd>
    </div>
  )
}
