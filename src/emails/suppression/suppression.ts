import type { RecordEvents } from '../../changes/record-change.ts'
import type { Pool } from '../../db/connect.ts'
import { suppressionNotFound } from '../../platform/errors.ts'
import { emailKey } from '../../platform/text/email-address.ts'
import { deleteSuppression, findSuppressedContact } from './suppression-store.ts'

/** Ends the suppression of an address; 404 `Suppression not found`. */
export async function endSuppression(
  { db, recordEvents }: { db: Pool; recordEvents: RecordEvents },
  companyId: number,
  text: string,
): Promise<void> {
  const address = emailKey(text)
  await db.begin(async (tx) => {
    if (!(await deleteSuppression(tx, companyId, address))) throw suppressionNotFound()
    const id = await findSuppressedContact(tx, companyId, address)
    if (id !== undefined) {
      await recordEvents.publish(tx, [{ event: 'contact.changed', companyId, id, change: 'updated' }])
    }
  })
}
