import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useMemo } from 'react'
import { api } from '../client.ts'
import { settingsQuery } from '../inbox/settings-query.ts'
import { may } from '../may.ts'
import { faultText } from '../parts/feedback/failure-text.ts'
import { Select } from '../parts/forms/select.tsx'
import { useSession } from '../shell/session-context.ts'
import { importText } from '../texts/imports.ts'
import css from './imports.module.css'
import { phoneReadingQuery } from './phone-reading.ts'

/** The country whose national numbers the phones of a list are; admins choose it for the company. */
export function DefaultCountry({ country }: { country: string | null }) {
  const session = useSession()
  const client = useQueryClient()
  const { data: reading } = useQuery(phoneReadingQuery)
  const countries = useMemo(() => choicesOf(reading?.PHONE_COUNTRIES ?? []), [reading])
  const { mutate, error } = useMutation({
    mutationFn: (chosen: string) => api.updateMe({ settings: { defaultCountry: chosen === '' ? null : chosen } }),
    onSuccess: ({ data }) => client.setQueryData(settingsQuery.queryKey, data.settings),
  })
  if (!may(session, 'customFields'))
    return <p className={css.soft}>{importText.countryOf(country && nameOf(country))}</p>
  return (
    <div className={css.choice}>
      <span className={css.soft}>{importText.country}</span>
      <Select
        label={importText.country}
        value={country ?? ''}
        choices={[{ value: '', label: importText.noCountry }, ...countries]}
        onChange={(chosen) => mutate(chosen)}
      />
      {error && (
        <p role="alert" className={css.fault}>
          {faultText(error)}
        </p>
      )}
    </div>
  )
}

const names = new Intl.DisplayNames('en', { type: 'region' })
const nameOf = (code: string): string => names.of(code) ?? code

const choicesOf = (codes: readonly string[]) =>
  codes.map((value) => ({ value, label: nameOf(value) })).sort((one, other) => one.label.localeCompare(other.label))
