import { beforeEach, expect, it } from 'vitest'
import { createFailurePace, type FailurePace } from './receivers.ts'

const REFUSED = { succeeded: false, durationMs: 1 }
const TIMED_OUT = { succeeded: false, durationMs: 10_000 }
const GOOD = { succeeded: true, durationMs: 5 }

let nowMs = 0
let pace: FailurePace
beforeEach(() => {
  nowMs = 0
  pace = createFailurePace(() => nowMs)
})

const fail = (lane: string, companyId: number, count = 10) => {
  for (let n = 0; n < count; n += 1) pace.learn(lane, companyId, REFUSED)
}
/** Starts attempts within the room of a claim; returns their number. */
const startAll = (): number => {
  let started = 0
  for (const [lane, room] of pace.rooms()) {
    for (let n = 0; n < room; n += 1) started += pace.mayStart(lane) ? 1 : 0
  }
  return started
}
const startedIn = (seconds: number): number => {
  let started = 0
  for (const endMs = nowMs + seconds * 1_000; nowMs < endMs; nowMs += 20) started += startAll()
  return started
}
const uses = (lane: string) => Array.from({ length: 100 }, () => pace.mayStart(lane)).filter(Boolean).length

it('starts attempts at receivers that succeed, or are new, whenever they are due', () => {
  for (let n = 0; n < 100; n += 1) pace.learn('1.1', 1, GOOD)
  expect([uses('1.1'), uses('1.2')]).toEqual([100, 100])
  expect(pace.rooms().size).toBe(0)
})

it('paces a company of fast failures to 100 attempts a second over all its receivers', () => {
  for (let n = 0; n < 50; n += 1) fail(`1.${n}`, 1)
  startAll()
  const started = startedIn(10)
  expect(started).toBeGreaterThan(900)
  expect(started).toBeLessThanOrEqual(1_050)
})

it('divides 200 a second among the companies that fail', () => {
  for (let company = 1; company <= 8; company += 1) fail(`${company}.1`, company)
  startAll()
  const started = startedIn(10)
  expect(started).toBeGreaterThan(1_700)
  expect(started).toBeLessThanOrEqual(2_000 + 8 * 10)
})

it('gives each receiver of a company its turn', () => {
  for (let n = 0; n < 50; n += 1) fail(`1.${n}`, 1)
  const turns = new Map<string, number>()
  for (; nowMs < 20_000; nowMs += 20) {
    for (const [lane, room] of pace.rooms())
      for (let n = 0; n < room; n += 1) if (pace.mayStart(lane)) turns.set(lane, (turns.get(lane) ?? 0) + 1)
  }
  expect(turns.size).toBe(50)
  expect(Math.max(...turns.values()) - Math.min(...turns.values())).toBeLessThanOrEqual(2)
})

it('does not slow another receiver of the company', () => {
  fail('1.1', 1)
  uses('1.1')
  expect(uses('1.2')).toBe(100)
})

it('paces a receiver no longer that succeeds again', () => {
  fail('1.1', 1, 20)
  expect(uses('1.1')).toBe(50)
  for (let n = 0; n < 6; n += 1) pace.learn('1.1', 1, GOOD)
  expect(uses('1.1')).toBe(100)
  expect(pace.rooms().size).toBe(0)
})

it('does not pace a receiver of which half succeed, and does one of which a tenth do', () => {
  for (let n = 0; n < 100; n += 1) pace.learn('1.1', 1, n % 2 === 0 ? GOOD : REFUSED)
  for (let n = 0; n < 100; n += 1) pace.learn('2.1', 2, n % 10 === 0 ? GOOD : REFUSED)
  expect([...pace.rooms().keys()]).toEqual(['2.1'])
})

it('leaves receivers that time out to the bound of attempts in flight', () => {
  for (let n = 0; n < 100; n += 1) pace.learn('1.1', 1, TIMED_OUT)
  expect(pace.rooms().size).toBe(0)
})

it('forgets the receivers that failed longest ago', () => {
  for (let n = 0; n < 10_001; n += 1) fail(`${n}.1`, n)
  expect(uses('0.1')).toBe(100)
  expect(uses('10000.1')).toBe(50)
})
