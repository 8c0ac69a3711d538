import type { RecordEvents } from '../../../changes/record-change.ts'
import type { Pool } from '../../../db/connect.ts'
import { findUnlinked } from '../../../people/customer-store.ts'
import type { RecipientReport } from '../../../people/identify.ts'
import { recordInbound } from './record-inbound.ts'
import { toContactChanges } from './write-inbound.ts'

type Answer = RecipientReport & { readonly companyId: number; readonly requestedIdentity: string }

/** Links recipient identities from send responses. Reads without locks first, because most are linked already. */
export async function recordAnswers(
  { db, recordEvents }: { db: Pool; recordEvents: RecordEvents },
  answers: readonly Answer[],
  sourceType: string,
  at: Date,
): Promise<void> {
  if (answers.length === 0) return
  const news = await findUnlinked(db, answers)
  if (news.length === 0) return
  const entries = news.map(({ companyId, ...report }) => ({ kind: 'answer', companyId, wamid: null, report }) as const)
  await db.begin(async (tx) => {
    await recordEvents.publish(tx, toContactChanges(await recordInbound(tx, entries, { sourceType, at })))
  })
}
