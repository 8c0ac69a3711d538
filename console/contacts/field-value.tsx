import type { CustomField } from '../../client/src/generated/schemas.ts'
import { Badge } from '../parts/feedback/badge.tsx'
import { contactText } from '../texts/contacts.ts'
import { date, dateAndTime, number } from '../texts/format.ts'
import { text } from '../texts/text.ts'
import css from './pane/section.module.css'

export type FieldType = CustomField['type']

/** The value of a custom field as its kind is read. A value of another kind is shown as it is stored. */
export function FieldValue({ type, value }: { type: FieldType; value: unknown }) {
  if (value === undefined || value === null || value === '') {
    return <span className={css.soft}>{contactText.record.empty}</span>
  }
  if (typeof value === 'object') return <code className={css.json}>{JSON.stringify(value, null, 1)}</code>
  if (typeof value === 'boolean')
    return <Badge tone={value ? 'good' : 'plain'}>{value ? text.contact.yes : text.contact.no}</Badge>
  if (typeof value === 'number') return <span>{number(value)}</span>
  const shown = String(value)
  if ((type === 'date' || type === 'datetime') && !Number.isNaN(Date.parse(shown))) {
    return (
      <time dateTime={shown} title={shown}>
        {type === 'date' ? date(`${shown.slice(0, 10)}T12:00:00`) : dateAndTime(shown)}
      </time>
    )
  }
  if (type === 'select') return <Badge>{shown}</Badge>
  return <bdi>{shown}</bdi>
}

/** The kind of a value that has no definition. */
export function typeOf(value: unknown): FieldType {
  if (typeof value === 'number') return 'number'
  if (typeof value === 'boolean') return 'boolean'
  return typeof value === 'object' ? 'json' : 'text'
}
