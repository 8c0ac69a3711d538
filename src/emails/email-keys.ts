import type { Db } from '../db/connect.ts'
import { emailKey, wireAddress } from '../text/email-address.ts'
import { listWrittenSuppressions, moveSuppression, readEmailRecipients, writeRecipients } from './email-key-store.ts'

/** Mails that one statement looks at. */
const WINDOW = 20_000

/** Gives mails and suppressions of a company the ASCII form of their domains. */
export async function rekeyEmails(db: Db, companyId: number, pause: () => Promise<void>): Promise<void> {
  for (let after = 0; ; ) {
    const { last, rows } = await readEmailRecipients(db, companyId, after, WINDOW)
    const changed = rows
      .map(({ id, recipient }) => ({ id, before: recipient, recipient: wireAddress(recipient) }))
      .filter(({ before, recipient }) => before !== recipient)
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
