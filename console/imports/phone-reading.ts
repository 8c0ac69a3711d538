import { useQuery } from '@tanstack/react-query'
import { useMemo } from 'react'
import type { PhoneCountry, readPhone } from '../../src/platform/text/phone.ts'
import { settingsQuery } from '../inbox/settings-query.ts'

/** Reads phones as the service does, with the default country of the company. */
export type Phones = { read: typeof readPhone; isBlank: (text: string) => boolean; country: PhoneCountry | null }

/** Loaded when it is needed: it has the numbering plans of all countries. */
export const phoneReadingQuery = {
  queryKey: ['phone-reading'],
  queryFn: () => import('../../src/platform/text/phone.ts'),
  staleTime: Number.POSITIVE_INFINITY,
}

/** The reading of phones; undefined until it is loaded. */
export function usePhones(): Phones | undefined {
  const { data: reading } = useQuery(phoneReadingQuery)
  const { data: settings } = useQuery(settingsQuery)
  return useMemo(() => {
    if (reading === undefined || settings === undefined) return undefined
    const { defaultCountry: code } = settings
    const country = code !== null && reading.isPhoneCountry(code) ? code : null
    return { read: reading.readPhone, isBlank: reading.isBlankPhone, country }
  }, [reading, settings])
}
