import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { Readable } from 'node:stream'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { startReceiver } from '../../test/receiver.ts'
import { systemClock } from '../platform/clock.ts'
import type { Provider, SenderAccess, SendOutcome } from './provider.ts'
import { createBreaker } from './provider-api.ts'

/** An adapter and a stand-in for its provider, controlled through its control address. */
export type ProviderUnderTest = {
  provider: Provider
  access: SenderAccess
  /** Calls the stand-in's control address. */
  control: (method: string, path: string, body?: unknown) => Promise<unknown>
  /** Ids in an accepted response. */
  ids: object
  stop: () => Promise<void>
}

const CALM = {
  refuseWithCode: null,
  ownRefusal: null,
  htmlErrors: null,
  hang: null,
  resetBeforeAnswer: null,
  truncate: null,
}

/** Tests every provider adapter against the port. The provider's deadline must be 1 s. */
export function describeProvider(name: string, start: () => Promise<ProviderUnderTest>): void {
  describe(`${name} as a provider`, () => {
    let subject: ProviderUnderTest
    beforeAll(async () => {
      subject = await start()
    })
    beforeEach(() => subject.control('PUT', '/behaviour', CALM))
    afterAll(() => subject.stop())

    const behave = (change: object) => subject.control('PUT', '/behaviour', change)
    const send = (access: Partial<SenderAccess> = {}, body: object = textTo('393331234567')): Promise<SendOutcome> =>
      subject.provider.send({ ...subject.access, ...access }, JSON.stringify(body))

    describe('a send', () => {
      test('is accepted with the ids that the provider gives, its body unchanged', async () => {
        const body = textTo('5511987654321')
        expect(await send({}, body)).toEqual({
          kind: 'accepted',
          input: '5511987654321',
          waId: '551187654321',
          userId: null,
          ...subject.ids,
        })
        expect(await subject.control('GET', '/messages?limit=1')).toMatchObject([{ to: '5511987654321', body }])
      })

      test.each([
        [100, 'invalid_parameter'],
        [131026, 'not_on_whatsapp'],
        [1002, 'not_on_whatsapp'],
        [131047, 'window_closed'],
        [132000, 'parameter_mismatch'],
        [132008, 'parameter_mismatch'],
        [132012, 'parameter_mismatch'],
        [132018, 'parameter_mismatch'],
        [132001, 'template_not_found'],
        [132015, 'template_not_approved'],
        [132016, 'template_not_approved'],
        [131051, 'unsupported'],
        [2, 'unavailable'],
        [131016, 'unavailable'],
        [131057, 'unavailable'],
        [133004, 'unavailable'],
        [2494100, 'unavailable'],
        [130501, 'request'],
        [131008, 'request'],
        [131009, 'request'],
        [131053, 'request'],
        [131062, 'request'],
        [132005, 'request'],
        [132007, 'request'],
        [1010, 'request'],
        [1011, 'request'],
        [131021, 'recipient'],
        [131030, 'recipient'],
        [1, 'other'],
        [10, 'other'],
        [190, 'other'],
        [368, 'other'],
        [131000, 'other'],
        [131031, 'other'],
        [131042, 'other'],
        [131050, 'other'],
        [133010, 'other'],
      ])('refused with %i is %s', async (code, reason) => {
        await behave({ refuseWithCode: code })
        expect(await send()).toMatchObject({
          kind: 'refused',
          reason,
          error: { code, title: expect.stringContaining(`(#${code})`), details: 'Refused as ordered' },
        })
      })

      test.each([
        [4, 60],
        [17, 60],
        [613, 60],
        [80007, 60],
        [130429, 1],
        [131048, 3600],
        [131056, 6],
        [131064, 3600],
        [132069, 60],
        [4001, 60],
      ])('refused with %i is to wait %i s', async (code, retryAfterSeconds) => {
        await behave({ refuseWithCode: code })
        expect(await send()).toMatchObject({ kind: 'throttled', retryAfterSeconds, error: { code } })
      })

      test('to the address for marketing is refused until the account has signed the terms', async () => {
        const body = JSON.stringify(textTo('393331234567'))
        const outcome = await subject.provider.send(subject.access, body, 'marketing')
        expect(outcome).toMatchObject({ kind: 'refused', reason: 'marketing_address', error: { code: 200 } })
      })

      test.each([
        [131055, 'marketing_address'],
        [134101, 'marketing_address'],
        [139200, 'category'],
      ])('refused with %i is about its %s', async (code, reason) => {
        await behave({ refuseWithCode: code })
        expect(await send()).toMatchObject({ kind: 'refused', reason, error: { code } })
      })

      test('refused by its own layer is a refusal with its message, 429 a throttle', async () => {
        await behave({ ownRefusal: { status: 403, message: 'Blocked for lack of payment' } })
        const error = { code: null, title: 'Blocked for lack of payment', details: null }
        expect(await send()).toEqual({ kind: 'refused', reason: 'other', error })
        await behave({ ownRefusal: { status: 429, message: 'Slower' } })
        expect(await send()).toMatchObject({ kind: 'throttled', retryAfterSeconds: 60 })
      })

      test('refused by a gateway may have been taken: unknown', async () => {
        await behave({ ownRefusal: { status: 502, message: 'Bad gateway' } })
        expect(await send()).toMatchObject({ kind: 'unknown' })
      })

      test('with a credential that is not good is refused', async () => {
        expect(await send({ accessToken: 'refused' })).toMatchObject({ kind: 'refused', reason: 'other' })
      })

      test.each([
        ['a page of HTML', { htmlErrors: true }],
        ['no answer', { hang: true }],
        ['a connection that breaks', { resetBeforeAnswer: true }],
        ['an answer that breaks off', { truncate: true }],
      ])('answered with %s has an unknown outcome', async (_, behaviour) => {
        await behave(behaviour)
        expect(await send()).toMatchObject({ kind: 'unknown', error: { code: null } })
      })

      test('that was accepted before the connection broke is not repeated', async () => {
        await behave({ resetBeforeAnswer: true })
        const to = '393339998877'
        expect(await send({}, textTo(to))).toMatchObject({ kind: 'unknown' })
        const taken = (await subject.control('GET', '/messages?limit=100')) as { to: string }[]
        expect(taken.filter((message) => message.to === to)).toHaveLength(1)
      })
    })

    test('its breaker opens after ten failures, holds everything back, and closes when the provider is there again', async () => {
      const breaker = createBreaker()
      const attempt = (access: Partial<SenderAccess> = {}) =>
        breaker.run({ companyId: 1, id: 1 }, async () => ({ outcome: await send(access) }))
      const away = { apiBaseUrl: 'http://127.0.0.1:9/base' }
      for (let failure = 0; failure < 10; failure++) {
        expect(await attempt(away)).toMatchObject({ outcome: { kind: 'unreachable' } })
      }
      expect(await attempt()).toBeUndefined()
      await expect.poll(() => attempt(), { interval: 100 }).toMatchObject({ outcome: { kind: 'accepted' } })
      expect(await attempt()).toMatchObject({ outcome: { kind: 'accepted' } })
    })

    describe('a send where nothing left for the provider is safe to repeat:', () => {
      test('a name that is none', async () => {
        expect(await send({ apiBaseUrl: 'http://provider.invalid/base' })).toMatchObject({ kind: 'unreachable' })
      })

      test('a connection that is refused', async () => {
        expect(await send({ apiBaseUrl: 'http://127.0.0.1:9/base' })).toMatchObject({ kind: 'unreachable' })
      })

      test('no TLS where TLS is expected', async () => {
        const { url, stop } = await listen((socket) => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n'))
        expect(await send({ apiBaseUrl: url.replace('http:', 'https:') })).toMatchObject({ kind: 'unreachable' })
        await stop()
      })

      test('a connection that is reset before the request is written', async () => {
        const { url, stop } = await listen((socket) => socket.resetAndDestroy())
        expect(await send({ apiBaseUrl: url.replace('http:', 'https:') })).toMatchObject({ kind: 'unreachable' })
        await stop()
      })
    })

    describe('an answer of the wrong kind', () => {
      const answering = async (contentType: string, body: string, status = 200) => {
        const head = `HTTP/1.1 ${status} X\r\ncontent-type: ${contentType}\r\ncontent-length: ${Buffer.byteLength(body)}`
        const { url, stop } = await listen((socket) => {
          socket.once('data', () => socket.end(`${head}\r\nconnection: close\r\n\r\n${body}`))
        })
        const outcome = await send({ apiBaseUrl: url })
        await stop()
        return outcome
      }

      test('counts by its content, whatever its type', async () => {
        const body = JSON.stringify({ messages: [{ id: 'wamid.HBgM' }] })
        expect(await answering('text/html', body)).toMatchObject({ kind: 'accepted', wamid: 'wamid.HBgM' })
      })

      test.each([
        ['HTML with 200', 'text/html', '<h1>Welcome</h1>', 200],
        ['JSON that is torn', 'application/json', '{"messages":[{"id":"wam', 200],
        ['an acceptance without an id', 'application/json', '{"messages":[]}', 200],
        ['nothing at all', 'application/json', '', 200],
        ['a page with 503', 'text/html', '<h1>Later</h1>', 503],
      ])('%s: unknown', async (_, contentType, body, status) => {
        expect(await answering(contentType, body, status)).toMatchObject({ kind: 'unknown' })
      })

      test('a page with 404 says for sure that nothing was taken', async () => {
        expect(await answering('text/html', '<h1>None</h1>', 404)).toMatchObject({ kind: 'refused', reason: 'other' })
      })
    })

    describe('a 429 without a known code asks to wait:', () => {
      const refusing = (retryAfter: string | undefined, body: string) =>
        startReceiver((_, response) =>
          response.writeHead(429, retryAfter === undefined ? {} : { 'retry-after': retryAfter }).end(body),
        )
      const inAnHour = () => new Date(systemClock.now().getTime() + 3_600_000).toUTCString()

      test.each([
        ['a page', '<h1>Slower</h1>'],
        ['an error in words', '{"error":"Slower","status":"error","message":"Slower"}'],
        ['an unknown code', '{"error":{"code":987654,"message":"(#987654) Slower"}}'],
      ])('%s', async (_, body) => {
        const { url } = await refusing('7', body)
        const access = { ...subject.access, apiBaseUrl: url.slice(0, -1) }
        const { provider } = subject
        const file = () => ({ body: Readable.from([Buffer.from('x')]), sizeBytes: 1, mimeType: 'image/png' })
        const template = {
          name: 'one',
          language: 'it',
          category: 'UTILITY',
          parameterFormat: 'POSITIONAL' as const,
          components: [{ type: 'BODY', text: 'Ciao' }],
          ttlSeconds: undefined,
        }
        const throttled = { kind: 'throttled', retryAfterSeconds: 7 }
        expect(await send(access)).toMatchObject(throttled)
        expect(await provider.markRead(access, 'wamid.read', false)).toMatchObject(throttled)
        expect(await provider.fetchMedia(access, '1', AbortSignal.timeout(60_000))).toMatchObject(throttled)
        const failed = { kind: 'failed', isRefused: false, isDenied: false, retryAfterSeconds: 7 }
        expect(await provider.listNumbers(access)).toMatchObject(failed)
        expect(await provider.listTemplates(access)).toMatchObject(failed)
        expect(await provider.createTemplate(access, template)).toMatchObject(failed)
        expect(await provider.deleteTemplate(access, 'one')).toMatchObject(failed)
        expect(await provider.uploadMedia(access, file())).toMatchObject(failed)
        const sampled = await provider.uploadSample(access, file())
        if (sampled.kind !== 'unsupported') expect(sampled).toMatchObject(failed)
      })

      test('until a date', async () => {
        const { url } = await refusing(inAnHour(), 'Slower')
        const { retryAfterSeconds } = (await send({ apiBaseUrl: url.slice(0, -1) })) as { retryAfterSeconds: number }
        expect(retryAfterSeconds).toBeGreaterThan(3_000)
        expect(retryAfterSeconds).toBeLessThanOrEqual(3_600)
      })

      test.each([undefined, '0', 'soon', '99999999'])('for a minute if the header is %s', async (retryAfter) => {
        const { url } = await refusing(retryAfter, 'Slower')
        expect(await send({ apiBaseUrl: url.slice(0, -1) })).toMatchObject({ kind: 'throttled', retryAfterSeconds: 60 })
      })
    })

    describe('a read receipt', () => {
      const markRead = (isTyping = false, access: Partial<SenderAccess> = {}) =>
        subject.provider.markRead({ ...subject.access, ...access }, 'wamid.read', isTyping)

      test.each([true, false])('is taken, with typing: %s', async (isTyping) => {
        expect(await markRead(isTyping)).toEqual({ kind: 'taken' })
        const { phoneNumberId } = subject.access
        const [receipt] = (await subject.control('GET', '/receipts?limit=1')) as object[]
        expect(receipt).toMatchObject({ wamid: 'wamid.read', phoneNumberId, isTyping })
      })

      test('is refused, throttled, or not answered', async () => {
        await behave({ refuseWithCode: 131051 })
        expect(await markRead()).toMatchObject({ kind: 'refused', reason: 'unsupported' })
        await behave({ refuseWithCode: 80007 })
        expect(await markRead()).toMatchObject({ kind: 'throttled', retryAfterSeconds: 60 })
        await behave({ refuseWithCode: null, ownRefusal: { status: 403, message: 'Blocked' } })
        expect(await markRead()).toMatchObject({ kind: 'refused', reason: 'other', error: { title: 'Blocked' } })
        expect(await markRead(false, { apiBaseUrl: 'http://127.0.0.1:9/base' })).toMatchObject({ kind: 'unreachable' })
      })
    })

    describe('templates', () => {
      test('are all listed, found by the id that events name, with the states in capitals', async () => {
        const components = [
          { type: 'HEADER', format: 'TEXT', text: 'News' },
          { type: 'BODY', text: 'Hello {{1}}' },
          { type: 'FOOTER', text: 'Acme' },
          { type: 'BUTTONS', buttons: [{ type: 'QUICK_REPLY', text: 'Yes' }] },
        ]
        const created: { id: string }[] = []
        for (let count = 0; count < 230; count++) {
          const template = {
            wabaAccountId: subject.access.wabaAccountId,
            name: `many_${count}`,
            language: 'it',
            components,
          }
          created.push(
            (await subject.control('POST', '/templates', { ...template, category: 'UTILITY' })) as { id: string },
          )
        }
        const listed = await subject.provider.listTemplates(subject.access)
        if (listed.kind === 'failed') throw new Error(listed.error.title)
        const many = listed.value.filter((template) => template.name.startsWith('many_'))
        expect(new Set(many.map((template) => template.externalId))).toEqual(new Set(created.map(({ id }) => id)))
        expect(many[0]).toMatchObject({ language: 'it', status: 'APPROVED', category: 'UTILITY', rejectedReason: '' })
        expect(many[0]?.components.map(({ type, text, format, buttons }) => ({ type, text, format, buttons }))).toEqual(
          components.map(({ type, ...rest }) => ({
            text: undefined,
            format: undefined,
            buttons: undefined,
            type,
            ...rest,
          })),
        )
      })

      test('cannot be listed with a refused credential, nor without an answer', async () => {
        expect(await subject.provider.listTemplates({ ...subject.access, accessToken: 'refused' })).toMatchObject({
          kind: 'failed',
          isDenied: true,
        })
        const away = { ...subject.access, apiBaseUrl: 'http://127.0.0.1:9/base' }
        expect(await subject.provider.listTemplates(away)).toMatchObject({ kind: 'failed', isDenied: false })
      })
    })

    test('numbers are listed with name and number', async () => {
      const listed = await subject.provider.listNumbers(subject.access)
      const { phoneNumberId } = subject.access
      const own = listed.kind === 'fetched' && listed.value.find((number) => number.phoneNumberId === phoneNumberId)
      expect(own).toMatchObject({ phoneName: 'Suite', isSharedWithApp: false })
      expect(own ? own.phoneNumber?.replaceAll(/[^0-9]/g, '') : undefined).toBe('393330001122')
    })

    test('numbers cannot be listed with a refused credential', async () => {
      const refused = { ...subject.access, accessToken: 'refused' }
      expect(await subject.provider.listNumbers(refused)).toMatchObject({ kind: 'failed', isDenied: true })
    })

    describe('media', () => {
      test('come back as they were uploaded', async () => {
        const bytes = randomBytes(70_000)
        const file = {
          body: Readable.from([bytes.subarray(0, 1), bytes.subarray(1)]),
          sizeBytes: 70_000,
          mimeType: 'image/png',
        }
        const uploaded = await subject.provider.uploadMedia(subject.access, file)
        if (uploaded.kind === 'failed') throw new Error(uploaded.error.title)
        const fetched = await subject.provider.fetchMedia(subject.access, uploaded.value, AbortSignal.timeout(5_000))
        if (fetched.kind !== 'fetched') throw new Error(fetched.kind)
        expect(fetched.mimeType).toBe('image/png')
        const received = Buffer.concat(await fetched.body.toArray())
        expect(digest(received)).toBe(digest(bytes))
      })

      test('that the provider does not have, or cannot have, are gone', async () => {
        for (const id of ['999999999', '../messages', 'a/b', '']) {
          expect(await subject.provider.fetchMedia(subject.access, id, AbortSignal.timeout(5_000))).toEqual({
            kind: 'gone',
          })
        }
      })

      test('cannot be had without an answer', async () => {
        const away = { ...subject.access, apiBaseUrl: 'http://127.0.0.1:9/base' }
        expect(await subject.provider.fetchMedia(away, '1', AbortSignal.timeout(5_000))).toMatchObject({
          kind: 'failed',
        })
        const file = { body: Readable.from([Buffer.from('x')]), sizeBytes: 1, mimeType: 'text/plain' }
        const uploaded = await subject.provider.uploadMedia(away, file)
        expect(uploaded).toMatchObject({ kind: 'failed', isDenied: false })
      })
    })

    test('says where its events have to be sent', () => {
      const url = 'https://api.example.com/public/v1/webhooks/whatsapp'
      expect(subject.provider.webhookSteps({ url, verifyToken: 'token', hasSecret: true })).toContain(url)
    })
  })
}

const textTo = (to: string) => ({ messaging_product: 'whatsapp', to, type: 'text', text: { body: 'Ciao, caffè' } })

const digest = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex')

async function listen(onConnection: (socket: Socket) => void) {
  const open = new Set<Socket>()
  const server = createServer((socket) => {
    open.add(socket)
    socket.on('error', () => undefined)
    onConnection(socket)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    stop: async () => {
      for (const socket of open) socket.destroy()
      server.close()
      await once(server, 'close')
    },
  }
}
