import { type Db, jsonRows } from '../db/connect.ts'

/** Something that a customer, or the business in its phone app, wrote. */
export type InboundRecord = {
  companyId: number
  senderId: number
  kind: 'message' | 'echo' | 'reaction'
  /** The customer's identity, and a second one where the event gives two. */
  customer: string
  other: string | null
  phone: string | null
  profileName: string | null
  wamid: string | null
  type: string
  text: string | null
  media: object | null
  targetWamid: string | null
  emoji: string | null
  sentAt: Date | null
  arrivedAt: Date
  opensWindow: boolean
  senderName: string | null
  sourceType: string
}

export type Recorded = { isNew: boolean; conversationId: number | null; messageId: number | null }

/** Writes many records in the order given and answers in that order. */
export async function recordInbound(tx: Db, records: readonly InboundRecord[], at: Date): Promise<Recorded[]> {
  const batches = splitByCustomer(records)
  if (batches.length > 1) await lockCustomers(tx, records)
  const recorded: Recorded[] = []
  for (const batch of batches) {
    for (let done = 0; done < batch.length; ) {
      const results = await recordBatch(tx, batch.slice(done), recorded.length, at)
      recorded.push(...results)
      done += results.length
    }
  }
  return recorded
}

/**
 * Cuts where a customer comes under other identities than before: the earlier records, which the database must have seen
 * first, decide which customer that is (sql: record_inbound).
 */
function splitByCustomer(records: readonly InboundRecord[]): InboundRecord[][] {
  const batches: InboundRecord[][] = []
  let known = new Map<string, string>()
  for (const record of records) {
    const { companyId, customer, other } = record
    const names = [customer, other].filter((name) => name !== null).map((name) => `${companyId} ${name}`)
    const person = names.join(' ')
    const batch = batches.at(-1)
    if (batch !== undefined && names.every((name) => (known.get(name) ?? person) === person)) batch.push(record)
    else {
      batches.push([record])
      known = new Map()
    }
    for (const name of names) known.set(name, person)
  }
  return batches
}

/** All at once, so that transactions which write in several steps never wait for each other in a circle. */
async function lockCustomers(tx: Db, records: readonly InboundRecord[]): Promise<void> {
  const customers = records.flatMap(({ companyId, customer, other }) =>
    [customer, other].filter((identity) => identity !== null).map((identity) => ({ company_id: companyId, identity })),
  )
  await tx`
    select lock_customers_and_partners(array_agg(customer))
    from jsonb_populate_recordset(null::customer_key, ${jsonRows(tx, customers)}) as customer
  `
}

function recordBatch(tx: Db, records: readonly InboundRecord[], before: number, at: Date): Promise<Recorded[]> {
  const items = records.map((record, index) => ({
    ord: index + 1,
    company_id: record.companyId,
    sender_id: record.senderId,
    kind: record.kind,
    customer: record.customer,
    other: record.other,
    phone: record.phone,
    profile_name: record.profileName,
    wamid: record.wamid,
    type: record.type,
    text: record.text,
    media: record.media,
    target_wamid: record.targetWamid,
    emoji: record.emoji,
    sent: record.sentAt && toSeconds(record.sentAt),
    arrived: toSeconds(record.arrivedAt),
    opens_window: record.opensWindow,
    sender_name: record.senderName,
  }))
  return tx<Recorded[]>`
    select is_new, conversation_id, message_id
    from record_inbound(${jsonRows(tx, items)}, ${records[0]?.sourceType ?? ''}, ${before}, ${at})
    order by ord
  `
}

const toSeconds = (date: Date): number => date.getTime() / 1_000
