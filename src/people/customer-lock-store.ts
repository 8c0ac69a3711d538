import { type Db, jsonRows } from '../db/connect.ts'

/** An identity of a company's customers: the identity of a phone number, a user id, or `#` and the id of a group. */
export type IdentityKey = { readonly companyId: number; readonly identity: string }

/** An identity whose lock is held, and the customer that it led to then, whose lock is held as well. */
export type LockedIdentity = IdentityKey & { readonly customerId: number | null }

/**
 * Locks identities and the customers that they lead to until the transaction ends; waits for other transactions. Facts are
 * read in a later statement. An identity that leads to another customer by then was moved in between: begin again.
 */
export const lockCustomers = (tx: Db, keys: readonly IdentityKey[]): Promise<LockedIdentity[]> => lock(tx, keys, true)

/** As `lockCustomers`, but without waiting: returns the identities alone whose locks it got. */
export const tryLockCustomers = (tx: Db, keys: readonly IdentityKey[]): Promise<LockedIdentity[]> =>
  lock(tx, keys, false)

const lock = (tx: Db, keys: readonly IdentityKey[], isPatient: boolean): Promise<LockedIdentity[]> =>
  tx<LockedIdentity[]>`
    select company_id, identity, customer_id
    from lock_customers(${jsonRows(tx, keys.map(toRow))}, ${isPatient})
  `

const toRow = ({ companyId, identity }: IdentityKey) => ({ company_id: companyId, identity })
