import { expect, test } from 'vitest'
import { stepOf } from './statements.ts'

test('A statement is named by what it writes, by the function that it calls, or by what it reads', () => {
  expect(stepOf('with a as (insert into messages (id) select 1) UPDATE conversations set x = 1')).toBe(
    'insert messages …',
  )
  expect(stepOf('insert into jobs (id) values ($1) on conflict (id) do update set id = 1')).toBe('insert jobs')
  expect(stepOf('select * from claim_events($1, $2)')).toBe('claim events')
  expect(stepOf('select id from senders where company_id = $1 for update')).toBe('read senders')
  expect(stepOf('begin')).toBe('begin')
})
