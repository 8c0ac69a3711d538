import { type Db, jsonRows } from '../db/connect.ts'

/** A phone identity, a user id, or `#` and a group id. */
export type IdentityKey = { readonly companyId: number; readonly identity: string }

export type LockedIdentity = IdentityKey & { readonly customerId: number | null }

/**
 * Locks identities and their customers until the transaction ends. Facts must be read in a later statement; if an
 * identity then leads to another customer, start over.
 */
export const lockCustomers = (tx: Db, keys: readonly IdentityKey[]): Promise<LockedIdentity[]> => lock(tx, keys, true)

export const tryLockCustomers = (tx: Db, keys: readonly IdentityKey[]): Promise<LockedIdentity[]> =>
  lock(tx, keys, false)

const lock = (tx: Db, keys: readonly IdentityKey[], isPatient: boolean): Promise<LockedIdentity[]> =>
  tx<LockedIdentity[]>`
    select company_id, identity, customer_id
    from lock_customers(${jsonRows(tx, keys.map(toRow))}, ${isPatient})
  `

const toRow = ({ companyId, identity }: IdentityKey) => ({ company_id: companyId, identity })
