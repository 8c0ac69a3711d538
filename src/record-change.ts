import type { Db, Pool } from './db/connect.ts'

/** The statuses of an outbound message that receivers get. */
export const REPORTED_STATUSES = ['sent', 'delivered', 'read', 'failed'] as const
export const CONTACT_CHANGES = ['created', 'updated', 'deleted', 'consent'] as const
export const EMAIL_CHANGES = ['sent', 'failed', 'bounced', 'opened', 'clicked', 'unsubscribed'] as const

type MessageError = { readonly code: number | null; readonly title: string | null; readonly details: string | null }
type Changed = { readonly companyId: number }

/** A change of a record that receivers may subscribe to: its ids, and the kind of change. */
export type RecordChange =
  | (Changed & {
      readonly event: 'whatsapp.message.status'
      readonly id: number
      readonly before: string
      readonly after: string
      /** That it failed in between, and why. */
      readonly failure: { readonly error: MessageError | null } | null
    })
  | (Changed & { readonly event: 'whatsapp.template.status'; readonly familyId: string; readonly language: string })
  | (Changed & {
      readonly event: 'contact.changed'
      readonly id: number
      readonly change: (typeof CONTACT_CHANGES)[number]
    })
  | (Changed & { readonly event: 'email.status'; readonly id: number; readonly change: (typeof EMAIL_CHANGES)[number] })

export type RecordEventName = RecordChange['event']
export type ChangeOf<Name extends RecordEventName> = Extract<RecordChange, { event: Name }>

/** Makes events of changes for the receivers that subscribe to them. */
export type RecordEvents = {
  /** Whether a registration of one of the companies subscribes to the event. Reads memory only. */
  isSubscribed(event: RecordEventName, companyIds: Iterable<number>): boolean
  /**
   * Writes the events that registrations subscribe to, in the transaction that made the changes; without any, it does
   * nothing.
   */
  publish(tx: Db, changes: readonly RecordChange[]): Promise<void>
}

/** For work whose events no receiver can subscribe to. */
export const NO_EVENTS: RecordEvents = { isSubscribed: () => false, publish: async () => {} }

/**
 * Runs a write that reports its changes: in a transaction together with its events where a registration subscribes to
 * them, else alone, as one statement.
 */
export async function writeWithEvents<T>(
  { db, events }: { db: Pool; events: RecordEvents },
  event: RecordEventName,
  companyIds: Iterable<number>,
  write: (db: Db, isSubscribed: boolean) => Promise<{ result: T; changes: readonly RecordChange[] }>,
): Promise<T> {
  if (!events.isSubscribed(event, companyIds)) return (await write(db, false)).result
  const { result } = await db.begin(async (tx) => {
    const { result, changes } = await write(tx, true)
    await events.publish(tx, changes)
    return { result }
  })
  return result
}
