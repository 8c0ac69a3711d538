import { expect, test } from 'vitest'
import { createTestDatabase } from '../../../test/database.ts'
import { createCompany } from '../../../test/world.ts'
import { jsonRows } from '../../db/connect.ts'
import { findMailed } from './tracking-store.ts'
import { createToken, newSecret, parseToken, type TokenUse } from './tracking-token.ts'

const { db } = await createTestDatabase({ mirrors: true })

/** An email with two links that was sent ten seconds ago, or just now. */
async function createEmail({ seconds = 10, isMarketing = false } = {}) {
  const companyId = await createCompany(db)
  const secret = newSecret()
  const [email] = await db<{ id: number }[]>`
    insert into emails (company_id, uid, recipient, subject, message_id, secret, is_marketing, status, completed_at)
    values (
      ${companyId}, 'eml_1', 'ada@example.com', 'Hi', '<1@a>', ${secret}, ${isMarketing}, 'sent',
      clock_timestamp() - make_interval(secs => ${seconds})
    )
    returning id
  `
  await db`
    insert into email_links (company_id, email_id, targets)
    values (${companyId}, ${email!.id}, array['https://a.example/', 'https://b.example/'])
  `
  const tokenOf = (use: TokenUse, link: number, key = secret) =>
    parseToken(createToken({ companyId, id: email!.id, secret: key }, use, link), use)!
  const fetch = (use: TokenUse, link: number, key = secret) => {
    const { tail, mac } = tokenOf(use, link, key)
    return { company_id: companyId, email_id: email!.id, link, tail, mac, counted: true, machine: false }
  }
  const counts = () => db`
    select open_count, machine_open_count, click_count, machine_click_count,
      (select count(*)::integer from email_clicks where company_id = ${companyId}) as clicks
    from emails where company_id = ${companyId}
  `
  return { companyId, tokenOf, fetch, counts }
}

const find = (fetches: readonly object[]) => db`
  select place, link, target, machine from find_email_fetches(${jsonRows(db, fetches)}) order by place
`

test('find_email_fetches leaves out tokens of another secret, for another use, and of unknown links', async () => {
  const { fetch } = await createEmail()
  const opened = fetch('open', 0)
  const wrong = [fetch('open', 0, newSecret()), { ...opened, tail: fetch('unsubscribe', 0).tail }, fetch('click', 3)]
  expect(await find([...wrong, opened, fetch('click', 2)])).toEqual([
    { place: 4, link: 0, target: null, machine: false },
    { place: 5, link: 2, target: 'https://b.example/', machine: false },
  ])
})

test('find_email_fetches takes a fetch within three seconds of the sending for one of a machine', async () => {
  const { fetch } = await createEmail({ seconds: 0 })
  expect(await find([fetch('open', 0)])).toMatchObject([{ machine: true }])
})

test('count_email_fetches counts opens and clicks, those of machines also apart, and lists each click', async () => {
  const { fetch, counts } = await createEmail()
  const fetches = [fetch('open', 0), fetch('open', 0), fetch('click', 1), { ...fetch('click', 2), machine: true }]
  await db`
    select count_email_fetches(array(select found from find_email_fetches(${jsonRows(db, fetches)}) as found))
  `
  expect(await counts()).toEqual([
    { openCount: 2, machineOpenCount: 0, clickCount: 2, machineClickCount: 1, clicks: 2 },
  ])
})

test('the ledger keeps 1,000 clicks of a mail and day, and all are counted', async () => {
  const { companyId, fetch, counts } = await createEmail()
  const { fetch: fetchOther, counts: ofOther } = await createEmail()
  const record = (fetches: readonly object[]) => db`select record_email_fetches(${jsonRows(db, fetches)})`
  const many = Array.from({ length: 400 }, (_, n) => fetch('click', 1 + (n % 2)))
  // Two of them at once, as two processes write them.
  await Promise.all([record(many), record(many)])
  await record([...many, fetchOther('click', 1), fetch('open', 0)])
  expect(await counts()).toMatchObject([{ openCount: 1, clickCount: 1_200, clicks: 1_000 }])
  expect(await ofOther()).toMatchObject([{ clickCount: 1, clicks: 1 }])
  await db`update emails set clicks_on = clicks_on - 1 where company_id = ${companyId}`
  await record([fetch('click', 1), fetch('click', 2)])
  expect(await counts()).toMatchObject([{ clickCount: 1_202, clicks: 1_002 }])
})

test('record_email_fetches answers the places and targets of known fetches, and counts none that is only looked up', async () => {
  const { fetch, counts } = await createEmail()
  const fetches = [fetch('click', 9), { ...fetch('click', 1), counted: false }]
  const [row] = await db`select record_email_fetches(${jsonRows(db, fetches)}) as targets`
  expect(row).toEqual({ targets: { 2: 'https://a.example/' } })
  expect(await counts()).toMatchObject([{ openCount: 0, clickCount: 0, clicks: 0 }])
})

test('an unsubscribe token names its recipient, but not with another secret or for another use', async () => {
  const { companyId, tokenOf } = await createEmail({ isMarketing: true })
  expect(await findMailed(db, tokenOf('unsubscribe', 0))).toMatchObject({ companyId, recipient: 'ada@example.com' })
  expect(await findMailed(db, tokenOf('unsubscribe', 0, newSecret()))).toBeUndefined()
  const { tail } = tokenOf('unsubscribe', 0)
  expect(await findMailed(db, { ...tokenOf('open', 0), tail })).toBeUndefined()
  const order = await createEmail({ isMarketing: false })
  expect(await findMailed(db, order.tokenOf('unsubscribe', 0))).toBeDefined()
})
