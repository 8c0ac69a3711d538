import { randomBytes } from 'node:crypto'
import { call } from '../../../bench/stage.ts'
import type { Client } from '../client.ts'
import type { Tally } from '../tally.ts'
import { untilFound, untilHandled } from '../until-found.ts'
import { connectCompany, inboundText, type World } from '../world.ts'

const WEBHOOK = '/public/v1/webhooks/whatsapp'
const JSON_TYPE = { 'content-type': 'application/json' }
/** Messages of a bulk body that are recorded before one of another company, at most. */
const MOST_BEFORE = 1_500

type Silent = Awaited<ReturnType<typeof connectSilent>>

/** A company that forwards its messages to a receiver that never answers. Its end is the end of the deliveries that wait, too. */
export async function connectSilent({ stage }: World) {
  const { companyId, headers, sender } = await connectCompany(stage)
  const ask = (method: string, path = '', body?: object) =>
    call(`${stage.url}/public/v1/webhooks/registrations${path}`, method, body, headers.authorization)
  const receiver = { name: 'Silent', url: 'https://example.com/hook', events: ['whatsapp.message.received'] }
  const { id } = Object(await ask('POST', '', receiver))
  return { companyId, phoneNumberId: sender.phoneNumberId, end: () => ask('DELETE', `/${id}`) }
}

/**
 * A valid body of many messages, and behind it one message of another company: counted by the order of the records. A lock
 * on the table of messages holds the first items of the body until the other message has been accepted.
 */
export async function postBulk(
  { stage, foreign }: World,
  silent: Silent,
  provider: Client,
  tally: Tally,
  round: number,
  count: number,
): Promise<void> {
  const bulk = `bulk-${round}`
  const body = inboundText(silent.phoneNumberId, '393339999999', bulk, 'wamid.bulk')
  const [message] = body.entry[0]?.changes[0]?.value.messages ?? []
  const messages = Array.from({ length: count }, (_, n) => ({ ...message, id: `wamid.${bulk}.${n}` }))
  Object.assign(body.entry[0]?.changes[0]?.value ?? {}, { messages })
  const marker = `after-bulk-${randomBytes(4).toString('hex')}`
  const post = async (event: string) => {
    tally.requests++
    const { status } = await provider.send({ method: 'post', path: WEBHOOK, headers: JSON_TYPE, body: event })
    if (status !== 200) tally.add('healthy calls refused', `a valid event: ${status}`)
  }
  await stage.db.begin(async (tx) => {
    await tx`lock table messages in share mode`
    await post(JSON.stringify(body))
    await untilFound(async () => {
      const waiting = await stage.db`select from pg_locks where relation = 'messages'::regclass and not granted`
      return waiting.length > 0 || undefined
    })
    await post(JSON.stringify(inboundText(foreign.phoneNumberId, '393331234567', marker, `wamid.${marker}`)))
  })
  const before = await untilFound(async () => {
    const [row] = await stage.db<{ before: number }[]>`
      select (
        select count(*)::int from messages bulk where bulk.company_id = ${silent.companyId} and bulk.text = ${bulk} and bulk.id < other.id
      ) as before
      from messages other
      where other.company_id = ${foreign.id} and other.text = ${marker}
    `
    return row?.before
  })
  const add = (evidence: string) => tally.add('others delayed by a hostile body', evidence)
  if (before === undefined) add('a message behind a bulk body was not recorded')
  else if (before > MOST_BEFORE) add(`${before} messages of a bulk body were recorded before another's`)
  await untilHandled(stage.db)
}
