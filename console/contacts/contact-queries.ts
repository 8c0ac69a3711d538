import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query'
import type { Contact, HiddenMatches } from '../../client/src/generated/schemas.ts'
import { api } from '../client.ts'
import type { ContactSearch } from '../search.ts'

const PAGE_ROWS = 50
export const DEFAULT_SORT = '-created_at'

type Consent = 'yes' | 'no' | 'unknown'
/** The conditions of a list as the API takes them. */
export type ContactFilter = {
  search?: string
  status?: string
  tag?: string
  field?: string
  emailConsent?: Consent
  whatsappConsent?: Consent
}

/** The conditions that an address names. */
export function filterOf({ search, status, tag, field, consent }: ContactSearch): ContactFilter {
  const value = consent?.endsWith(':yes') ? 'yes' : consent?.endsWith(':no') ? 'no' : 'unknown'
  return {
    ...(search !== undefined && { search }),
    ...(status !== undefined && { status }),
    ...(tag !== undefined && { tag }),
    // The value of the field comes after the field is chosen.
    ...(field !== undefined && /:./.test(field) && { field }),
    ...(consent?.startsWith('email') && { emailConsent: value }),
    ...(consent?.startsWith('whatsapp') && { whatsappConsent: value }),
  }
}

type ContactPage = {
  data: Contact[]
  pagination: { total: number; totalIsExact: boolean; nextCursor: string | null }
  hiddenMatches?: HiddenMatches
}

/** The contacts that match, in their order. A page may be short, or empty, before the end of the list. */
/** `sort`: undefined for the default, in which the best matches of a search come first. */
export const contactsQuery = (filter: ContactFilter, sort: ContactSearch['sort']) =>
  infiniteQueryOptions({
    queryKey: ['contacts', filter, sort],
    queryFn: ({ pageParam: cursor, signal }): Promise<ContactPage> => {
      const side = (sort ?? DEFAULT_SORT).startsWith('-') ? { before: cursor } : { after: cursor }
      return api.listContacts(
        { ...filter, ...(sort && { sort }), limit: PAGE_ROWS, ...(cursor !== '' && side) },
        { signal },
      )
    },
    initialPageParam: '',
    getNextPageParam: ({ pagination }) => pagination.nextCursor,
  })

/** The name of a contact; null without one. */
export const nameOf = ({ first_name, last_name }: Contact): string | null =>
  [first_name, last_name].filter(Boolean).join(' ') || null

export const contactQuery = (id: number) =>
  queryOptions({
    queryKey: ['contact', id],
    queryFn: async ({ signal }) => (await api.getContact({ id }, { signal })).data,
  })

export const consentQuery = (id: number) =>
  queryOptions({
    queryKey: ['contact', id, 'consent'],
    queryFn: async ({ signal }) => (await api.listConsent({ id }, { signal })).data,
  })

const ACTIVITY_ROWS = 20

export const activityQuery = (id: number) =>
  infiniteQueryOptions({
    queryKey: ['contact', id, 'activity'],
    queryFn: ({ pageParam: before, signal }) =>
      api.listActivity({ id, limit: ACTIVITY_ROWS, ...(before !== '' && { before }) }, { signal }),
    initialPageParam: '',
    getNextPageParam: ({ nextBefore }) => nextBefore,
  })
