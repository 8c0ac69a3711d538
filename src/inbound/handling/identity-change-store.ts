import type { Db } from '../../db/connect.ts'

/** A customer changed the phone number: the old one belongs to no contact from then on (decisions: Identity). */
export type NumberChange = {
  companyId: number
  /** Identities of the phone numbers, and the digits of the new one. */
  from: string
  to: string
  phone: string
  /** Of the system message that reports the change: recorded before, it changes nothing. */
  wamid: string | null
  sentAt: Date
}

/** A customer is known under another user id. `from`: the one before, or the identity of the phone number. */
export type UserIdChange = { companyId: number; from: string; to: string; sentAt: Date }

/** Moves conversations and contact of customers to their new number (sql: change_number). */
export async function changeNumber(tx: Db, change: NumberChange, at: Date): Promise<void> {
  const { companyId, from, to, phone, wamid, sentAt } = change
  await tx`select change_number(${companyId}, ${from}, ${to}, ${phone}, ${wamid}, ${sentAt}, ${at})`
}

/** Lets conversations and contact be found by the new user id as well (sql: change_user_id). */
export async function changeUserId(tx: Db, { companyId, from, to, sentAt }: UserIdChange): Promise<void> {
  await tx`select change_user_id(${companyId}, ${from}, ${to}, ${sentAt})`
}
