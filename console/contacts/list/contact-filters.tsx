import { useQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import type { CustomField } from '../../../client/src/generated/schemas.ts'
import { offeredFieldsQuery } from '../../fields/field-queries.ts'
import { PausedSearch } from '../../parts/forms/paused-search.tsx'
import { Select } from '../../parts/forms/select.tsx'
import { CONTACT_CONSENTS, CONTACT_SORTS, type ContactSearch } from '../../search.ts'
import { contactText } from '../../texts/contacts.ts'
import { text } from '../../texts/text.ts'
import { DEFAULT_SORT } from '../contact-queries.ts'
import css from './contact-filters.module.css'

const CONSENTS = [
  { value: '', label: contactText.anyConsent },
  ...CONTACT_CONSENTS.map((value) => ({ value, label: contactText.consents[value] })),
] as const
const SORTS = CONTACT_SORTS.map((value) => ({ value, label: contactText.sorts[value] }))

type Change = { [Key in keyof ContactSearch]: ContactSearch[Key] | undefined }

/** The search, the filters and the order of the list; the address holds them. */
export function ContactFilters({ search }: { search: ContactSearch }) {
  const navigate = useNavigate({ from: '/contacts/{-$id}' })
  const { data: fields = [] } = useQuery(offeredFieldsQuery)
  const set = (change: Change) =>
    navigate({ search: (kept): ContactSearch => JSON.parse(JSON.stringify({ ...kept, ...change })), replace: true })
  return (
    <div className={css.filters}>
      <div className={css.search}>
        <PausedSearch
          label={contactText.search}
          hasKey
          value={search.search ?? ''}
          onChange={(query) => set({ search: query || undefined })}
        />
      </div>
      <fieldset className={css.row} aria-label={contactText.filters}>
        <div className={css.text}>
          <PausedSearch
            label={contactText.status}
            value={search.status ?? ''}
            onChange={(status) => set({ status: status || undefined })}
          />
        </div>
        <div className={css.text}>
          <PausedSearch
            label={contactText.tag}
            value={search.tag ?? ''}
            onChange={(tag) => set({ tag: tag || undefined })}
          />
        </div>
        <Select
          label={contactText.consent}
          value={search.consent ?? ''}
          choices={CONSENTS}
          onChange={(consent) => set({ consent: consent || undefined })}
        />
        {(fields.length > 0 || search.field !== undefined) && (
          <FieldFilter fields={fields} value={search.field ?? ''} onChange={(field) => set({ field })} />
        )}
        <Select
          label={contactText.sort}
          value={search.sort ?? DEFAULT_SORT}
          choices={SORTS}
          onChange={(sort) => set({ sort: sort === DEFAULT_SORT ? undefined : sort })}
        />
      </fieldset>
    </div>
  )
}

type FieldProps = { fields: CustomField[]; value: string; onChange: (field: string | undefined) => void }

/** A custom field and its value. */
function FieldFilter({ fields, value: chosen, onChange }: FieldProps) {
  const colon = chosen.indexOf(':')
  const key = colon === -1 ? chosen : chosen.slice(0, colon)
  const value = colon === -1 ? '' : chosen.slice(colon + 1)
  const options = fields.map((field) => ({ value: field.key, label: field.displayName }))
  const isKnown = key === '' || options.some((one) => one.value === key)
  const field = fields.find((one) => one.key === key)
  const values =
    field?.type === 'boolean'
      ? [
          { value: 'true', label: text.contact.yes },
          { value: 'false', label: text.contact.no },
        ]
      : field?.allowedValues?.map((one) => ({ value: one, label: one }))
  const setValue = (next: string) => onChange(`${key}:${next}`)
  const label = contactText.fieldValue(field?.displayName ?? key)
  return (
    <>
      <Select
        label={contactText.field}
        value={key}
        choices={[
          { value: '', label: contactText.anyField },
          ...(isKnown ? [] : [{ value: key, label: key }]),
          ...options,
        ]}
        onChange={(next) => onChange(next === '' ? undefined : `${next}:`)}
      />
      {key !== '' &&
        (values === undefined ? (
          <div className={css.text}>
            <PausedSearch label={label} value={value} onChange={setValue} />
          </div>
        ) : (
          <Select
            label={label}
            value={value}
            choices={[{ value: '', label: contactText.anyValue }, ...values]}
            onChange={setValue}
          />
        ))}
    </>
  )
}
