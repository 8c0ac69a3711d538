import { expect, test } from 'vitest'
import { AUTOMATIC_ANSWER, dsn } from '../../../test/emails/dsn.ts'
import { readDeliveryReport } from './delivery-report.ts'

const read = (text: string) => readDeliveryReport(Buffer.from(text))

test.each([
  ['5.1.1', true],
  ['5.0.0', true],
  ['5.1.2', true],
  ['5.1.10', true],
  ['5.2.1', true],
  ['5.4.4', true],
  ['5.1.8', false],
  ['5.2.2', false],
  ['5.4.7', false],
  ['5.7.1', false],
  ['4.4.7', false],
  ['4.2.2', false],
])('status %s: whether the failure is permanent for the address is %s', async (status, isPermanent) => {
  expect(await read(dsn({ status, diagnostic: 'smtp; 5xx The text' }))).toEqual({
    kind: 'bounce',
    isPermanent,
    message: '5xx The text',
  })
})

test.each([
  ['a delay', dsn({ action: 'delayed', status: '4.4.1' })],
  ['a delivery', dsn({ action: 'delivered', status: '2.0.0' })],
  ['a failure without a status', dsn({ status: 'none' })],
  ['an automatic answer', AUTOMATIC_ANSWER],
  ['an empty mail', ''],
  ['a mail without an end', dsn().slice(0, 300)],
  [
    'parts inside each other',
    `Content-Type: multipart/mixed; boundary="b"\r\n\r\n${'--b\r\nContent-Type: multipart/mixed; boundary="b"\r\n\r\n'.repeat(1_000)}`,
  ],
])('%s is no report of a failure', async (_name, text) => {
  expect(await read(text)).toBeUndefined()
})

test('a report is read when the returned mail is truncated, and its message is bounded and on one line', async () => {
  const text = dsn({ diagnostic: `smtp; 550 a\r\n b${'x'.repeat(1_000)}`, more: 'y'.repeat(500_000) })
  const report = await read(text.slice(0, 256 * 1024))
  expect(report?.message).toMatch(/^550 a bx+$/)
  expect(report?.message).toHaveLength(500)
})
