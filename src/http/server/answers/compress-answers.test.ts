import { gunzipSync } from 'node:zlib'
import Fastify from 'fastify'
import { expect, test } from 'vitest'
import { unprefixedAddress } from '../request-head.ts'
import { compressAnswers } from './answers.ts'

const LIST = { data: Array.from({ length: 100 }, (_, id) => ({ id, text: 'Is it ready?' })) }
const PAGE = '/console/api/public/v1/list'

const app = Fastify({ rewriteUrl: (raw) => unprefixedAddress(raw, raw.url ?? '') })
compressAnswers(app)
app.get('/public/v1/list', async () => LIST)
app.get('/public/v1/small', async () => ({ data: 'Is it ready?' }))
app.get('/public/v1/csv', async (_request, reply) => reply.type('text/csv').send('id,text\n'.repeat(1_000)))

const get = (url: string, accepted?: string) =>
  app.inject({ url, ...(accepted !== undefined && { headers: { 'accept-encoding': accepted } }) })

test('JSON above 1 kB is compressed for a page of the console that takes gzip', async () => {
  const answer = await get(PAGE, 'gzip, deflate, br')
  expect(answer.headers).toMatchObject({ 'content-encoding': 'gzip', vary: 'Accept-Encoding' })
  expect(Number(answer.headers['content-length'])).toBe(answer.rawPayload.length)
  expect(answer.rawPayload.length).toBeLessThan(1_024)
  expect(JSON.parse(gunzipSync(answer.rawPayload).toString())).toEqual(LIST)
})

test.each([undefined, 'identity', 'gzip;q=0', 'br'])('a page that accepts %s gets plain JSON', async (accepted) => {
  const answer = await get(PAGE, accepted)
  expect(answer.headers).toMatchObject({ vary: 'Accept-Encoding' })
  expect(answer.headers).not.toHaveProperty('content-encoding')
  expect(answer.json()).toEqual(LIST)
})

test.each([
  ['a client of the API', '/public/v1/list'],
  ['a small answer', '/console/api/public/v1/small'],
  ['another type', '/console/api/public/v1/csv'],
])('%s gets what it got before', async (_title, url) => {
  const { headers } = await get(url, 'gzip')
  expect(headers).not.toHaveProperty('content-encoding')
  expect(headers).not.toHaveProperty('vary')
})
