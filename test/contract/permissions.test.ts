import { afterAll, expect, test } from 'vitest'
import type { Permission } from '../../src/http/admission/caller.ts'
import { startTestService } from '../service.ts'

/** Decisions, section 4: the permissions of which a key needs one, for every operation of the API-key surface. */
const ANY_FULL = ['WhatsApp', 'Transactional']
const WHATSAPP = ['WhatsApp']
const EMAIL = ['Transactional']
const ALL = ['WhatsApp', 'Transactional', 'ContactsUpsert']
const NEEDED: Record<string, readonly string[]> = {
  'POST /public/v1/templates/whatsapp/send': ANY_FULL,
  'GET /public/v1/templates/whatsapp/senders': ANY_FULL,
  'GET /public/v1/templates/whatsapp': ANY_FULL,
  'PUT /public/v1/templates/whatsapp/{name}/{language}': WHATSAPP,
  'DELETE /public/v1/templates/whatsapp/{name}': WHATSAPP,
  'GET /public/v1/me': ALL,
  'PATCH /public/v1/me': ANY_FULL,
  'GET /public/v1/events': ANY_FULL,
  'POST /public/v1/whatsapp/conversations/{chatId}/answering': WHATSAPP,
  'POST /public/v1/whatsapp/conversations/{chatId}/read': WHATSAPP,
  'POST /public/v1/whatsapp/conversations/{chatId}/typing': WHATSAPP,
  'POST /public/v1/whatsapp/media': ANY_FULL,
  'GET /public/v1/whatsapp/assignees': WHATSAPP,
  'GET /public/v1/whatsapp/quick-replies': WHATSAPP,
  'POST /public/v1/whatsapp/quick-replies': WHATSAPP,
  'PATCH /public/v1/whatsapp/quick-replies/{id}': WHATSAPP,
  'DELETE /public/v1/whatsapp/quick-replies/{id}': WHATSAPP,
  'GET /public/v1/whatsapp/conversations': WHATSAPP,
  'GET /public/v1/whatsapp/conversations/{chatId}': WHATSAPP,
  'POST /public/v1/whatsapp/conversations/{chatId}/messages': WHATSAPP,
  'GET /public/v1/whatsapp/conversations/{chatId}/messages': WHATSAPP,
  'GET /public/v1/whatsapp/conversations/{chatId}/messages/{id}': WHATSAPP,
  'GET /public/v1/whatsapp/scheduled-messages': ANY_FULL,
  'GET /public/v1/whatsapp/scheduled-messages/{id}': ANY_FULL,
  'DELETE /public/v1/whatsapp/scheduled-messages/{id}': ANY_FULL,
  'GET /public/v1/whatsapp/usage': WHATSAPP,
  'PATCH /public/v1/whatsapp/conversations/{chatId}': WHATSAPP,
  'POST /public/v1/webhooks/registrations': WHATSAPP,
  'GET /public/v1/webhooks/registrations': WHATSAPP,
  'GET /public/v1/webhooks/registrations/{id}': WHATSAPP,
  'PUT /public/v1/webhooks/registrations/{id}': WHATSAPP,
  'DELETE /public/v1/webhooks/registrations/{id}': WHATSAPP,
  'GET /public/v1/webhooks/registrations/{id}/logs': WHATSAPP,
  'GET /public/v1/webhooks/registrations/{id}/deliveries': WHATSAPP,
  'GET /public/v1/webhooks/registrations/{id}/deliveries/{deliveryId}': WHATSAPP,
  'POST /public/v1/webhooks/registrations/{id}/test': WHATSAPP,
  'POST /public/v1/webhooks/registrations/{id}/logs/{logId}/redeliver': WHATSAPP,
  'POST /public/v1/webhooks/registrations/{id}/redeliver': WHATSAPP,
  'POST /public/v1/contacts': ALL,
  'GET /public/v1/contacts': ANY_FULL,
  'GET /public/v1/contacts/{id}': ANY_FULL,
  'PUT /public/v1/contacts/{id}': ANY_FULL,
  'DELETE /public/v1/contacts/{id}': ANY_FULL,
  'GET /public/v1/contacts/by-email/{email}': ANY_FULL,
  'GET /public/v1/contacts/{id}/consent': ANY_FULL,
  'GET /public/v1/contacts/{id}/activity': ANY_FULL,
  'GET /public/v1/contacts/{id}/archive': ANY_FULL,
  'POST /public/v1/contacts/import': ANY_FULL,
  'GET /public/v1/contacts/imports': ANY_FULL,
  'DELETE /public/v1/contacts/imports/{id}': ANY_FULL,
  'GET /public/v1/contacts/imports/{id}': ANY_FULL,
  'GET /public/v1/contacts/imports/{id}/refused': ANY_FULL,
  'GET /public/v1/contacts/export': ANY_FULL,
  'POST /public/v1/custom-fields': ANY_FULL,
  'GET /public/v1/custom-fields': ANY_FULL,
  'PUT /public/v1/custom-fields/order': ANY_FULL,
  'PATCH /public/v1/custom-fields/{id}': ANY_FULL,
  'POST /public/v1/console/sign-in-links': ANY_FULL,
  'GET /public/v1/emails/{id}/stats': EMAIL,
  'POST /public/v1/emails': EMAIL,
  'GET /public/v1/transactionals/{id}/stats': EMAIL,
  'POST /public/v1/templates/email/send': EMAIL,
  'GET /public/v1/templates/email': EMAIL,
  'POST /api/transactionals': EMAIL,
  'GET /api/transactionals': EMAIL,
  'POST /api/transactionals/whatsapp/send': ANY_FULL,
  'GET /api/transactionals/whatsapp/templates': ANY_FULL,
  'POST /api/contacts': ALL,
}
const PERMISSIONS: readonly Permission[] = ['WhatsApp', 'Transactional', 'ContactsUpsert']
/** Without API key: the provider's webhook, and signed addresses of media. */
const OTHER_SURFACES = /^\/(admin|media)\/|^\/public\/v1\/webhooks\/whatsapp/

const service = await startTestService({
  mirrors: true,
  config: { legacyRemovalDate: new Date('2100-01-01T00:00:00Z') },
})
afterAll(() => service.app.close())

const keys = await Promise.all(
  PERMISSIONS.map(async (permission) => ({
    permission,
    token: (await service.createCompany({ permissions: [permission], isConnected: false })).key.token as string,
  })),
)

test('every operation of the API-key surface is in the table', async () => {
  const { body } = await service.call(service.url, 'GET', '/openapi.json')
  const operations = Object.entries(body.paths as Record<string, object>).flatMap(([path, methods]) =>
    OTHER_SURFACES.test(path) ? [] : Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
  )
  expect(operations.sort()).toEqual(Object.keys(NEEDED).sort())
})

test.each(Object.entries(NEEDED))('%s is for keys with one of %j', async (operation, needed) => {
  const [method = '', path = ''] = operation.split(' ')
  const place = path
    .replaceAll('{email}', 'a%40b.example')
    .replaceAll(/\{\w+\}/g, '1')
    .replace(/events$/, 'events?topics=none')
  for (const { permission, token } of keys) {
    const body = method === 'GET' || method === 'DELETE' ? undefined : {}
    const reply = await service.call(service.url, method, place, body, { authorization: `Bearer ${token}` })
    expect([permission, reply.status === 403]).toEqual([permission, !needed.includes(permission)])
    expect(reply.status).toBeLessThan(500)
  }
})
