import { describe, expect, it } from 'vitest'
import { createTestApi } from '../../test/api.ts'
import { NEW, startOperator } from '../../test/operator-world.ts'
import { operatorRoutes } from './operator-routes.ts'

const { db, deps, call, newCompany, number, newSender } = await startOperator()

describe('companies', () => {
  it('are created with 201, trimmed, on the standard plan unless said otherwise', async () => {
    const { status, body } = await call('POST', '/companies', { name: '  Acme  ' })
    expect(status).toBe(201)
    const standard = {
      rateLimitPerMinute: 100,
      readReceipts: true,
      defaultCountry: null,
      registrationLimit: 50,
      ...NEW,
    }
    expect(body).toEqual({ id: body.id, name: 'Acme', ...standard, createdAt: expect.any(String) })
    expect(new Date(body.createdAt).toISOString()).toBe(body.createdAt)
    const other = await call('POST', '/companies', { name: 'Busy', rateLimitPerMinute: 5000 })
    expect(other.body.rateLimitPerMinute).toBe(5000)
  })

  it('are read, listed as a bare array, and changed by what the change carries', async () => {
    const id = await newCompany()
    const { body } = await call('GET', `/companies/${id}`)
    expect((await call('GET', '/companies')).body).toContainEqual(body)
    const changed = await call('PATCH', `/companies/${id}`, { rateLimitPerMinute: 7 })
    expect(changed).toMatchObject({ status: 200, body: { ...body, rateLimitPerMinute: 7 } })
    expect((await call('PATCH', `/companies/${id}`, { name: 'New' })).body).toEqual({ ...changed.body, name: 'New' })
    const wide = await call('PATCH', `/companies/${id}`, { registrationLimit: 80 })
    expect(wide.body.registrationLimit).toBe(80)
    expect((await call('PATCH', `/companies/${id}`, { registrationLimit: 50 })).status).toBe(200)
    const quiet = await call('PATCH', `/companies/${id}`, { readReceipts: false })
    expect(quiet.body).toEqual({ ...changed.body, name: 'New', readReceipts: false })
    const italian = await call('PATCH', `/companies/${id}`, { defaultCountry: 'IT' })
    expect(italian.body).toEqual({ ...quiet.body, defaultCountry: 'IT' })
    expect((await call('PATCH', `/companies/${id}`, {})).body).toEqual(italian.body)
    expect((await call('PATCH', `/companies/${id}`, { defaultCountry: null })).body).toEqual(quiet.body)
  })

  it('have their keys forgotten when the limit changes', async () => {
    const id = await newCompany()
    const key = await call('POST', `/companies/${id}/api-keys`, { name: 'k', permissions: ['WhatsApp'] })
    deps.reported.keys.length = 0
    await call('PATCH', `/companies/${id}`, { rateLimitPerMinute: 7 })
    expect(deps.reported.keys).toEqual([key.body.clientId])
  })

  it.each([
    [{ name: '' }, 422],
    [{ name: '   ' }, 422],
    [{ name: 'x'.repeat(201) }, 422],
    [{ name: 'a\u0000b' }, 422],
    [{ name: 5 }, 422],
    [{ name: 'Acme', defaultCountry: 'XX' }, 422],
    [{ name: 'Acme', defaultCountry: 'it' }, 422],
    [{ name: 'Acme', defaultCountry: 39 }, 422],
    [{ name: 'Acme', rateLimitPerMinute: 0 }, 422],
    [{ name: 'Acme', registrationLimit: 0 }, 422],
    [{ name: 'Acme', sessionRateLimitPerMinute: 0 }, 422],
    [{ name: 'Acme', agentsMayErase: 'yes' }, 422],
    [{ name: 'Acme', registrationLimit: 10_001 }, 422],
    [{ name: 'Acme', rateLimitPerMinute: 1_000_001 }, 422],
    [{ name: 'Acme', rateLimitPerMinute: '100' }, 422],
    [{ name: 'Acme', rateLimitPerMinute: 1.5 }, 422],
    [{}, 400],
  ])('are refused as %j', async (body, status) => {
    expect((await call('POST', '/companies', body)).status).toBe(status)
  })

  it('are removed with their keys, and their numbers are free', async () => {
    const id = await newCompany()
    const { phoneNumberId } = await newSender(id)
    const key = await call('POST', `/companies/${id}/api-keys`, { name: 'k', permissions: ['WhatsApp'] })
    deps.reported.keys.length = 0
    expect(await call('DELETE', `/companies/${id}`)).toMatchObject({ status: 200, body: { success: true } })
    expect(deps.reported.keys).toEqual([key.body.clientId])
    expect(deps.reported.senders.at(-1)).toBe(id)
    expect((await call('GET', `/companies/${id}`)).status).toBe(404)
    expect((await call('DELETE', `/companies/${id}`)).status).toBe(404)
    expect((await call('GET', '/companies')).body.map((one: { id: number }) => one.id)).not.toContain(id)
    expect((await newSender(await newCompany(), { phoneNumberId })).isPreferred).toBe(true)
  })

  it('that do not exist are 404 Company not found on every route', async () => {
    const gone = await newCompany()
    await call('DELETE', `/companies/${gone}`)
    const key = { name: 'k', permissions: ['WhatsApp'] }
    const answers = []
    for (const id of [gone, 999_999_999, 'x', '0', '-1', '99999999999999999999']) {
      answers.push(
        await call('GET', `/companies/${id}`),
        await call('PATCH', `/companies/${id}`, { name: 'x' }),
        await call('DELETE', `/companies/${id}`),
        await call('POST', `/companies/${id}/api-keys`, key),
        await call('GET', `/companies/${id}/api-keys`),
        await call('DELETE', `/companies/${id}/api-keys/abc`),
        await call('POST', `/companies/${id}/senders`, number()),
        await call('GET', `/companies/${id}/senders`),
        await call('GET', `/companies/${id}/senders/1`),
        await call('PATCH', `/companies/${id}/senders/1`, {}),
        await call('DELETE', `/companies/${id}/senders/1`),
        await call('POST', `/companies/${id}/templates/sync`),
      )
    }
    expect(answers.filter(({ status, text }) => status !== 404 || text !== '{"message":"Company not found"}')).toEqual(
      [],
    )
  })
})

describe('API keys', () => {
  it('are made with 201 and shown with their token this once', async () => {
    const id = await newCompany()
    const created = await call('POST', `/companies/${id}/api-keys`, {
      name: 'CRM',
      permissions: ['whatsapp', 'Transactional'],
      allowedOrigins: ['https://App.example.com/'],
      expiresAt: '2027-01-01',
    })
    const shown = {
      clientId: expect.stringMatching(/^[a-z0-9]{16}$/),
      name: 'CRM',
      permissions: ['WhatsApp', 'Transactional'],
      allowedOrigins: ['https://app.example.com'],
      expiresAt: '2027-01-01T00:00:00.000Z',
      rateLimitPerMinute: null,
      rateLimitPerAddress: null,
      writableFields: null,
      storedBytesPerHour: null,
      hasIdentitySecret: false,
    }
    expect(created).toMatchObject({ status: 201 })
    const token = expect.stringMatching(/^PARLEY-[a-z0-9]{16}-[A-Za-z0-9]{43}$/)
    expect(created.body).toEqual({ ...shown, token, identitySecret: null })
    const listed = await call('GET', `/companies/${id}/api-keys`)
    expect(listed.body).toEqual([{ ...shown, createdAt: expect.any(String) }])
    expect(listed.text).not.toContain(created.body.token.split('-')[2])
  })

  it('have no origins and no end unless given', async () => {
    const id = await newCompany()
    const input = { name: 'k', permissions: ['ContactsUpsert'], expiresAt: null }
    const { body } = await call('POST', `/companies/${id}/api-keys`, input)
    expect(body).toMatchObject({ allowedOrigins: [], expiresAt: null })
  })

  it.each([
    [{ name: 'k' }, 400],
    [{ name: 'k', permissions: [] }, 422],
    [{ name: 'k', permissions: 'WhatsApp' }, 422],
    [{ name: 'k', permissions: ['Everything'] }, 422],
    [{ name: 'k', permissions: ['WhatsApp'], expiresAt: '2020-01-01' }, 422],
    [{ name: 'k', permissions: ['WhatsApp'], expiresAt: 5 }, 422],
    [{ name: 'k', permissions: ['WhatsApp'], allowedOrigins: ['*'] }, 422],
    [{ name: 'k', permissions: ['WhatsApp'], allowedOrigins: null }, 422],
  ])('are refused as %j', async (body, status) => {
    const answer = await call('POST', `/companies/${await newCompany()}/api-keys`, body)
    expect(answer.status).toBe(status)
    expect(answer.body.error.code).toBe(status === 400 ? 'bad_request' : 'validation_error')
  })

  it("are revoked; another company's is 404 exactly as one that never was", async () => {
    const [id, other] = [await newCompany(), await newCompany()]
    const { clientId } = (await call('POST', `/companies/${id}/api-keys`, { name: 'k', permissions: ['WhatsApp'] }))
      .body
    const foreign = await call('DELETE', `/companies/${other}/api-keys/${clientId}`)
    const unknown = await call('DELETE', `/companies/${other}/api-keys/nobody`)
    expect(foreign).toEqual(unknown)
    expect(foreign).toMatchObject({ status: 404, text: '{"message":"API key not found"}' })
    expect(await call('DELETE', `/companies/${id}/api-keys/${clientId}`)).toMatchObject({
      status: 200,
      body: { success: true },
    })
    expect((await call('GET', `/companies/${id}/api-keys`)).body).toEqual([])
    expect(deps.reported.keys.at(-1)).toBe(clientId)
  })
})

it('syncs the templates of a company on demand', async () => {
  const id = await newCompany()
  expect(await call('POST', `/companies/${id}/templates/sync`)).toMatchObject({
    status: 200,
    body: { synced: id + 1000 },
  })
})

it('needs the operator’s token at every route', async () => {
  const routes: { method: string; url: string }[] = []
  const { app } = await createTestApi({
    db,
    routes: async (server) => {
      server.addHook('onRoute', ({ method, url }) => {
        routes.push(...[method].flat().map((one) => ({ method: one, url })))
      })
      await server.register(operatorRoutes(deps))
    },
  })
  expect(routes.length).toBeGreaterThanOrEqual(14)
  for (const { method, url } of routes) {
    const { statusCode } = await app.inject({ method: method as 'GET', url: url.replaceAll(/:\w+/g, '1') })
    expect([method, url, statusCode]).toEqual([method, url, 401])
  }
  await app.close()
})
