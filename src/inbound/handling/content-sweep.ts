import {
  type FormerMessage,
  readFormerMessages,
  type StatedMessage,
  writeStated,
} from '../../conversations/recording/former-message-store.ts'
import type { Db } from '../../db/connect.ts'
import { findMember, membersOf, textOf, valueAt } from '../../platform/text/json-text.ts'
import type { EventReader } from '../../providers/events/event-reader.ts'
import { passOverCompanies } from '../../queue/company-pass.ts'
import { toStated } from './batch/item-records.ts'

const WINDOW = 200
const START = { eventId: '', day: 0 }

type ContentSweepDeps = { db: Db; events: Pick<EventReader, 'parse'> }

/** Backfills kind and content for messages stored by earlier versions, as long as their envelopes exist. */
export const sweepContents = ({ db, events }: ContentSweepDeps, signal: AbortSignal): Promise<void> =>
  passOverCompanies(db, 'content_passes', signal, async (companyId, pause) => {
    for (let after = START; ; ) {
      const { last, messages } = await readFormerMessages(db, companyId, after, WINDOW)
      if (last === undefined) return
      const stated = messages.flatMap((message) => readStated(events, message))
      if (stated.length > 0) await writeStated(db, companyId, stated)
      after = last
      await pause()
    }
  })

function readStated(events: ContentSweepDeps['events'], { id, wamid, envelope }: FormerMessage): StatedMessage[] {
  const raw = findMember(membersOf(envelope, valueAt(envelope)), 'raw')
  if (raw === undefined) return []
  const parsed = events.parse(textOf(envelope, raw.value))
  const items = parsed.kind === 'items' ? parsed.items : []
  const item = items.find((one) => one.kind === 'message' && one.wamid === wamid)
  if (item?.kind !== 'message') return []
  const stated = toStated(item)
  return Object.values(stated).some((value) => value !== null) ? [{ id, ...stated }] : []
}
