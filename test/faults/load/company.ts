import type { Random } from '../random.ts'
import { ask } from './client.ts'

export type Company = { token: string; phoneNumberId: string; registrationIds: string[] }

const REGISTRATIONS = 2
const RATE_LIMIT = 1_000_000

type Place = {
  addresses: string[]
  adminToken: string
  sandboxUrl: string
  providerUrl: string
  receiversUrl: string
  random: Random
}

/** A company with a number, a key and two receivers. */
export async function createCompany(place: Place, index: number): Promise<Company> {
  const { addresses, random, adminToken } = place
  const post = async (path: string, token: string, body: object) => {
    const answer = await ask(addresses, random, path, JSON.stringify(body), { authorization: `Bearer ${token}` })
    if (answer.status !== 201) throw new Error(`POST ${path}: ${answer.status} ${JSON.stringify(answer.body)}`)
    return answer.body
  }
  const company = await post('/admin/v1/companies', adminToken, {
    name: `Company ${index}`,
    rateLimitPerMinute: RATE_LIMIT,
  })
  const base = `/admin/v1/companies/${company.id}`
  const permissions = ['WhatsApp', 'Transactional']
  const { token } = await post(`${base}/api-keys`, adminToken, { name: 'Key', permissions })
  const phoneNumberId = `1000000000000${10 + index}`
  const displayPhoneNumber = `+39 06 555 000${index}`
  const account = `20000000000000${index}`
  const connected = await fetch(`${place.sandboxUrl}/sandbox/numbers`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ phoneNumberId, displayPhoneNumber, verifiedName: 'A', wabaAccountId: account }),
  })
  if (!connected.ok) throw new Error(`The sandbox refuses the number: ${await connected.text()}`)
  await post(`${base}/senders`, adminToken, {
    provider: 'meta',
    phoneNumber: displayPhoneNumber,
    phoneName: 'A',
    phoneNumberId,
    wabaAccountId: account,
    accessToken: 'token',
    apiBaseUrl: place.providerUrl,
  })
  const registrationIds: string[] = []
  for (let number = 0; number < REGISTRATIONS; number += 1) {
    const id = `${index}-${number}`
    const registration = { name: id, url: `${place.receiversUrl}/${id}`, events: ['whatsapp.message.received'] }
    await post('/public/v1/webhooks/registrations', token, registration)
    registrationIds.push(id)
  }
  return { token, phoneNumberId, registrationIds }
}
