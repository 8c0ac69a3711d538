import type { Db } from '../db/connect.ts'
import { emailKey, storedMailbox, wireAddress } from '../platform/text/email-address.ts'
import { listWrittenSuppressions, moveSuppression, readEmailRecipients, writeRecipients } from './email-key-store.ts'

const WINDOW = 20_000

function toRecipient(written: string) {
  const recipient = wireAddress(written)
  return { recipient, recipientKey: storedMailbox(recipient) }
}

/** Converts a company's mail and suppression domains to ASCII, and fills the mailbox column. */
export async function rekeyEmails(db: Db, companyId: number, pause: () => Promise<void>): Promise<void> {
  for (let after = 0; ; ) {
    const { last, rows } = await readEmailRecipients(db, companyId, after, WINDOW)
    const changed = rows
      .map((before) => ({ before, after: { id: before.id, ...toRecipient(before.recipient) } }))
      .filter(({ before, after }) => before.recipient !== after.recipient || before.recipientKey !== after.recipientKey)
      .map(({ after }) => after)
    if (changed.length > 0) await writeRecipients(db, companyId, changed)
    if (last === null) break
    after = last
    await pause()
  }
  for (const address of await listWrittenSuppressions(db, companyId)) {
    const key = emailKey(address)
    if (key !== address) await moveSuppression(db, companyId, address, key)
  }
}
