import { describe, expect, it } from 'vitest'
import { testCipher } from '../../../test/webhook-fixture.ts'
import { faultsOf, missing, PATH, startRegistrations, valid } from '../../../test/webhooks/registration-world.ts'

const { db, companyId, other, call, create, storedHeaders, untilOneWaits } = await startRegistrations()

describe('updating a registration', () => {
  it('changes only what is sent and answers the updated record', async () => {
    const { body: before } = await create({ secret: 'sixteen letters!', headers: [{ key: 'A', value: '1' }] })
    const url = `${PATH}/${before.id}`
    const changes: [object, object][] = [
      [{}, {}],
      [{ name: 'New' }, { name: 'New' }],
      [{ url: 'https://other.example/' }, { url: 'https://other.example/' }],
      [{ status: 'inactive' }, { status: 'inactive' }],
      [{ status: 'active' }, { status: 'active' }],
      [{ method: 'GET' }, { method: 'GET' }],
      [{ ordered: true }, { ordered: true }],
      [{ headers: [{ key: 'B', value: '2' }] }, { headers: { B: '…' } }],
      [{ headers: [] }, { headers: {} }],
      [{ secret: null }, { hasSecret: false }],
      [{ secret: 'another sixteen letters' }, { hasSecret: true }],
    ]
    let expected = before
    for (const [change, effect] of changes) {
      expected = { ...expected, ...effect }
      expect(await call('PUT', url, change)).toEqual({ status: 200, body: expected })
    }
    expect(await call('GET', url)).toEqual({ status: 200, body: expected })
  })

  it('keeps static headers encrypted, answers their names alone, and forgets those that were replaced', async () => {
    const { body } = await create({ headers: [{ key: 'Authorization', value: 'Bearer of-the-receiver' }] })
    expect(body.headers).toEqual({ Authorization: '…' })
    const stored = async () => {
      const [row] = await db<{ everything: string; staticHeaders: string | null }[]>`
        select registrations::text as everything, static_headers from registrations where company_id > 0 and id = ${body.id}
      `
      return row!
    }
    const { everything, staticHeaders } = await stored()
    expect(everything).not.toContain('of-the-receiver')
    expect(JSON.parse(testCipher.decrypt(staticHeaders!))).toEqual([
      { key: 'Authorization', value: 'Bearer of-the-receiver' },
    ])
    expect((await call('PUT', `${PATH}/${body.id}`, { name: 'Same' })).body.headers).toEqual(body.headers)
    expect((await call('GET', `${PATH}/${body.id}`)).body.headers).toEqual(body.headers)
    await call('PUT', `${PATH}/${body.id}`, { headers: [] })
    expect((await stored()).staticHeaders).toBeNull()
  })

  it('keeps the stored value of a header that is sent as it was answered', async () => {
    const { body } = await create({
      headers: [
        { key: 'Authorization', value: 'Bearer 1' },
        { key: 'X-Gone', value: 'x' },
      ],
    })
    const changed = await call('PUT', `${PATH}/${body.id}`, {
      headers: [
        { key: 'authorization', value: '…' },
        { key: 'X-New', value: 'y' },
      ],
    })
    expect(changed).toMatchObject({ status: 200, body: { headers: { authorization: '…', 'X-New': '…' } } })
    expect(await storedHeaders(body.id)).toEqual([
      { key: 'authorization', value: 'Bearer 1' },
      { key: 'X-New', value: 'y' },
    ])
  })

  it('refuses to keep the value of a header that is not stored, and changes nothing', async () => {
    const { body } = await create({ headers: [{ key: 'A', value: '1' }] })
    const headers = [
      { key: 'A', value: '2' },
      { key: 'B', value: '…' },
    ]
    const refused = await call('PUT', `${PATH}/${body.id}`, { name: 'New', headers })
    expect([refused.status, faultsOf(refused)]).toEqual([422, ['headers[1].value']])
    expect(await call('GET', `${PATH}/${body.id}`)).toEqual({ status: 200, body })
    expect(await storedHeaders(body.id)).toEqual([{ key: 'A', value: '1' }])
    expect(await call('PUT', `${PATH}/987654321`, { headers })).toEqual(missing)
  })

  it('keeps the value that another change has just stored', async () => {
    const { body } = await create({ headers: [{ key: 'A', value: 'old' }] })
    const gate = Promise.withResolvers<void>()
    const written = Promise.withResolvers<void>()
    const other = db.begin(async (tx) => {
      const staticHeaders = testCipher.encrypt(JSON.stringify([{ key: 'A', value: 'new' }]))
      await tx`
        update registrations set static_headers = ${staticHeaders} where company_id = ${companyId} and id = ${body.id}`
      written.resolve()
      await gate.promise
    })
    await written.promise
    const changed = call('PUT', `${PATH}/${body.id}`, { headers: [{ key: 'A', value: '…' }] })
    await untilOneWaits()
    gate.resolve()
    await other
    expect((await changed).status).toBe(200)
    expect(await storedHeaders(body.id)).toEqual([{ key: 'A', value: 'new' }])
  })

  it('replaces the secret', async () => {
    const { body } = await create({ secret: 'sixteen letters!' })
    await call('PUT', `${PATH}/${body.id}`, { secret: 'the second secret' })
    const [row] = await db`select secret from registrations where company_id = ${companyId} and id = ${body.id}`
    expect(testCipher.decrypt(row!.secret)).toBe('the second secret')
  })

  it('answers 422 to values that are not allowed, and changes nothing', async () => {
    const { body } = await create()
    const bad = {
      name: '',
      url: 'https://[::1]/',
      events: [],
      status: 'paused',
      secret: 'short',
      headers: [{ key: 'Te', value: '' }],
    }
    const answer = await call('PUT', `${PATH}/${body.id}`, bad)
    expect(answer.status).toBe(422)
    expect(faultsOf(answer)).toEqual(['events', 'headers[0].key', 'name', 'secret', 'status', 'url'])
    expect((await call('GET', `${PATH}/${body.id}`)).body).toEqual(body)
  })

  it("does not reach another company's", async () => {
    const { body } = await create()
    expect(await call('PUT', `${PATH}/${body.id}`, { name: 'Mine' }, other)).toEqual(missing)
    expect((await call('GET', `${PATH}/${body.id}`)).body.name).toBe(valid.name)
  })
})
