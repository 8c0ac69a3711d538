import type { Db } from '../../db/connect.ts'
import { refreshContacts } from '../consent/shown-consent.ts'
import { tryLockCustomers } from '../customer-lock-store.ts'
import { updateCustomers } from '../customer-store.ts'
import { attachStored } from '../people.ts'
import { readPersons, toPeople } from '../people-store.ts'

/**
 * Attaches customers with a deleted contact to the person's stored contact (docs/conversations.md). Returns false
 * without waiting, and changes nothing, if another transaction has locked a customer.
 */
export async function attachCustomers(tx: Db, companyId: number, identities: readonly string[]): Promise<boolean> {
  const keys = [...new Set(identities)].map((identity) => ({ companyId, identity }))
  if (keys.length === 0) return true
  const locked = await tryLockCustomers(tx, keys)
  if (locked.length < keys.length) return false
  const people = toPeople(locked, { holders: [], persons: await readPersons(tx, keys) }).get(companyId)
  const attached = [...(people?.customers.values() ?? [])].filter(
    (customer) => people !== undefined && attachStored(people, customer),
  )
  if (attached.length === 0) return true
  await updateCustomers(
    tx,
    attached.map(({ id, contactId, phone }) => ({ companyId, id, contactId, phone })),
  )
  await refreshContacts(
    tx,
    attached.map(({ contactId }) => ({ companyId, contactId })),
    { waits: false },
  )
  return true
}
