import { type Db, jsonRows } from '../../db/connect.ts'
import type { VoiceCall } from '../../providers/events/event-item.ts'
import { addToCall } from './call.ts'
import type { TargetMessage } from './message-change-store.ts'

type CallEvent = { companyId: number; callId: string; call: VoiceCall }
export type ChangedCall = TargetMessage & { call: VoiceCall }

/** Adds call events in order. Returns each changed message, or undefined for a repeated event or missing message. */
export async function recordCallEvents(
  tx: Db,
  events: readonly CallEvent[],
  at: Date,
): Promise<(ChangedCall | undefined)[]> {
  if (events.length === 0) return []
  const calls = new Map((await lockCalls(tx, events)).map((one) => [keyOf(one.companyId, one.wamid), one]))
  const changed = events.map(({ companyId, callId, call }) => {
    const known = calls.get(keyOf(companyId, callId))
    const next = known && addToCall(known.call, call)
    if (known === undefined || next === undefined) return undefined
    const message = { ...known, call: next }
    calls.set(keyOf(companyId, callId), message)
    return message
  })
  const last = [...calls.values()].filter((message) => changed.includes(message))
  if (last.length > 0) await writeCalls(tx, last, at)
  return changed
}

const keyOf = (companyId: number, callId: string) => `${companyId} ${callId}`

function lockCalls(tx: Db, events: readonly CallEvent[]): Promise<ChangedCall[]> {
  const calls = new Map(events.map(({ companyId, callId }) => [keyOf(companyId, callId), { companyId, callId }]))
  const rows = [...calls.values()].map(({ companyId, callId }) => ({ company_id: companyId, wamid: callId }))
  return tx<ChangedCall[]>`
    select message.company_id, message.wamid, message.id, message.conversation_id, message.content -> 'call' as call
    from jsonb_to_recordset(${jsonRows(tx, rows)}) as input (company_id bigint, wamid text)
    join messages message on (message.company_id, message.wamid) = (input.company_id, input.wamid)
    where message.content ->> 'type' = 'call'
    order by message.company_id, message.id
    for no key update of message
  `
}

async function writeCalls(tx: Db, calls: readonly ChangedCall[], at: Date): Promise<void> {
  const rows = calls.map(({ companyId, id, call }) => ({ company_id: companyId, id, content: { type: 'call', call } }))
  await tx`
    update messages message
    set content = input.content, updated_at = ${at}
    from jsonb_to_recordset(${jsonRows(tx, rows)}) as input (company_id bigint, id bigint, content jsonb)
    where (message.company_id, message.id) = (input.company_id, input.id)
  `
}
