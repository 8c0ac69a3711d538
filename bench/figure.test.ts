import { expect, test } from 'vitest'
import { stepOf } from './cost.ts'
import { figureOf, summaryOf, tableOf } from './figure.ts'

const reason = 'service 0.44 ms, database 0.38 ms each'
const missed = figureOf({
  ...{ name: 'forward: throughput', value: 2_400, unit: '/s', atLeast: 1, reason },
  than: { 'graphile-worker': 1_200, 'pg-boss': 3_000 },
})
const met = figureOf({ name: 'forward: p99', value: 91.25, unit: 'ms', than: { 'pg-boss': 100 }, atMost: 1, reason })
const plain = figureOf({ name: 'forward: p50', value: 41.2, unit: 'ms' })

const cellsOf = (line: string) =>
  line
    .split('|')
    .map((cell) => cell.trim())
    .slice(1, -1)

test('A table has for each figure its value, bound, ratios and whether the goal is met', () => {
  const lines = tableOf([missed, met, plain]).split('\n')
  expect(lines.slice(2).map(cellsOf)).toEqual([
    ['forward: throughput', '2,400/s', '>= 1', 'graphile-worker 2.00, pg-boss 0.80', 'NO'],
    ['forward: p99', '91.3 ms', '<= 1', 'pg-boss 0.91', 'yes'],
    ['forward: p50', '41.2 ms', '', '', ''],
  ])
  expect(new Set(lines.map(({ length }) => length)).size).toBe(1)
})

test('The summary of a run has every goal, and the reasons of missed ones', () => {
  expect(summaryOf([missed, met, plain])?.split('\n\n')).toEqual([
    tableOf([missed, met]),
    'Why goals are missed, as this run measured it:',
    `- forward: throughput: ${reason}`,
  ])
  expect(summaryOf([plain])).toBeUndefined()
})

test('Goals that are missed for the same reason share its line', () => {
  const p99 = figureOf({ name: 'forward: p99', value: 3, than: { 'pg-boss': 2 }, atMost: 1, reason })
  expect(summaryOf([missed, p99])?.split('\n').at(-1)).toBe(`- forward: throughput; forward: p99: ${reason}`)
})

test('A goal is met at its bound', () => {
  expect(figureOf({ name: 'memory', value: 200, atMost: 200 }).met).toBe(true)
  expect(figureOf({ name: 'memory', value: 201, atMost: 200 }).met).toBe(false)
  expect(figureOf({ name: 'sends', value: 3, than: { peer: 3 }, atLeast: 1 }).met).toBe(true)
})

test('A statement is named by what it writes, by the function that it calls, or by what it reads', () => {
  expect(stepOf('with a as (insert into messages (id) select 1) UPDATE conversations set x = 1')).toBe(
    'insert messages …',
  )
  expect(stepOf('insert into jobs (id) values ($1) on conflict (id) do update set id = 1')).toBe('insert jobs')
  expect(stepOf('select * from claim_events($1, $2)')).toBe('claim events')
  expect(stepOf('select id from senders where company_id = $1 for update')).toBe('read senders')
  expect(stepOf('begin')).toBe('begin')
})
