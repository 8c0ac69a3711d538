import { randomBytes } from 'node:crypto'
import type { Clock } from '../../platform/clock.ts'
import { DEFAULT_PROVIDER } from '../../providers/provider-name.ts'
import { createSigner, deliveryHeaders } from '../attempts/delivery-headers.ts'
import { ATTEMPT_TIMEOUT_MS, type AttemptOutcome, type ReceiverClient } from '../attempts/post.ts'
import { findEventKind } from '../events/event-kinds.ts'
import { MESSAGE_RECEIVED, PLAIN_MESSAGE } from '../events/message-received.ts'
import { getRegistration, type RegistrationDeps } from './registration.ts'

export type TestDeliveryDeps = RegistrationDeps & {
  clock: Clock
  receiver: Pick<ReceiverClient, 'post'>
  serviceName: string
}

/** Sends a signed sample, neither logged nor retried. Works on inactive registrations, to test before activation. */
export async function testRegistration(
  deps: TestDeliveryDeps,
  companyId: number,
  registrationId: number | undefined,
  beforePost: () => Promise<void> = async () => {},
): Promise<AttemptOutcome> {
  const registration = await getRegistration(deps, companyId, registrationId)
  const now = deps.clock.now()
  const [event = MESSAGE_RECEIVED] = registration.events
  const { eventId, envelope } = sampleOf(event, companyId, now)
  const body = Buffer.from(JSON.stringify(envelope))
  const { headers, url, method } = registration
  const signer = registration.secret === null ? null : createSigner(deps.cipher.decrypt(registration.secret))
  const signed = { registrationId: registration.id, event, eventId, body, headers, signer }
  await beforePost()
  return await deps.receiver.post({
    url,
    method,
    headers: deliveryHeaders(deps.serviceName, signed, now),
    body,
    timeoutMs: ATTEMPT_TIMEOUT_MS,
    registrationId: registration.id,
  })
}

function sampleOf(event: string, companyId: number, at: Date): { eventId: string; envelope: object } {
  const suffix = randomBytes(16).toString('hex')
  if (event === MESSAGE_RECEIVED) {
    const wamid = `wamid.TEST${suffix.toUpperCase()}`
    return { eventId: wamid, envelope: sampleMessage(companyId, wamid, at) }
  }
  const id = `test_${suffix}`
  return { eventId: id, envelope: { ...findEventKind(event)?.example, id, companyId, createdAt: at.toISOString() } }
}

function sampleMessage(companyId: number, wamid: string, at: Date) {
  const timestamp = Math.floor(at.getTime() / 1000)
  const text = 'This is a test delivery'
  const message = { from: '15550100', id: wamid, timestamp: String(timestamp), type: 'text', text: { body: text } }
  return {
    version: '1',
    event: MESSAGE_RECEIVED,
    companyId,
    channel: { provider: DEFAULT_PROVIDER, phoneNumber: null, channelId: null },
    contact: { phone: '15550100', name: 'Test Customer', userId: null },
    message: {
      wamid,
      type: 'text',
      text,
      isEcho: false,
      timestamp,
      timestampIso: new Date(timestamp * 1000).toISOString(),
      ...PLAIN_MESSAGE,
    },
    raw: {
      object: 'whatsapp_business_account',
      entry: [{ id: '0', changes: [{ field: 'messages', value: { messages: [message] } }] }],
    },
  }
}
