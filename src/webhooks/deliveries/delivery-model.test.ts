import fc from 'fast-check'
import { expect, it } from 'vitest'
import { propertyRuns } from '../../../test/run/property-runs.ts'
import { signatureOf } from '../../../test/webhook-fixture.ts'
import { fixedClock } from '../../platform/clock.ts'
import { makeAttempt } from '../attempts/deliver.ts'
import { createSigners } from '../attempts/delivery-headers.ts'
import type { AttemptOutcome, ReceiverTarget } from '../attempts/post.ts'
import type { AttemptRecord, StartedAttempt } from './delivery-store.ts'

/**
 * Runs one delivery under a virtual clock: real attempts, headers, signatures and schedule, an in-memory receiver, and a
 * simulated database with the rules proven in delivery-store.test.ts.
 */
const BODY = '{"text":"é","n":1.10}'
const START = new Date('2026-01-01T00:00:00Z')
const WAITS_MS = [5_000, 10_000, 20_000, 40_000]

type Answer = { kind: 'ok' | 'refused' | 'hang' | 'reset'; statusCode: number; retryAfterSeconds: number | null }
type Act = { act: 'pause' | 'resume' | 'delete' | 'rotate'; afterMs: number }
type Row = AttemptRecord & { atMs: number }
type Post = { atMs: number; target: ReceiverTarget; secret: string; isAllowed: boolean }

const anyAnswer: fc.Arbitrary<Answer> = fc.oneof(
  { weight: 2, arbitrary: fc.constant({ kind: 'ok' as const, statusCode: 204, retryAfterSeconds: null }) },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('refused' as const),
      statusCode: fc.constantFrom(301, 400, 401, 404, 410, 429, 500, 503),
      retryAfterSeconds: fc.option(fc.integer({ min: 0, max: 1_000 })),
    }),
  },
  { weight: 2, arbitrary: fc.constant({ kind: 'hang' as const, statusCode: 0, retryAfterSeconds: null }) },
  { weight: 2, arbitrary: fc.constant({ kind: 'reset' as const, statusCode: 0, retryAfterSeconds: null }) },
)
const anyAct: fc.Arbitrary<Act> = fc.record({
  act: fc.constantFrom('pause', 'resume', 'resume', 'delete', 'rotate'),
  afterMs: fc.integer({ min: 0, max: 60_000 }),
})

/** Plays a delivery to its end; acts run at their time, even during an attempt. */
async function play(answers: Answer[], acts: Act[], random: number) {
  const clock = fixedClock(START)
  const registration = { isActive: true, isDeleted: false, secret: 'the first secret' }
  const posts: Post[] = []
  const rows: Row[] = []
  const upcoming = [...acts]
  let actsAtMs = START.getTime()

  const moveTo = (ms: number) => {
    for (let next = upcoming[0]; next && actsAtMs + next.afterMs <= ms; next = upcoming[0]) {
      actsAtMs += next.afterMs
      upcoming.shift()
      if (next.act === 'pause') registration.isActive = false
      if (next.act === 'resume') registration.isActive = true
      if (next.act === 'delete') registration.isDeleted = true
      if (next.act === 'rotate') registration.secret = `${registration.secret}, rotated`
    }
    clock.set(new Date(Math.max(ms, clock.now().getTime())))
  }
  const isAllowed = () => registration.isActive && !registration.isDeleted
  const post = async (target: ReceiverTarget): Promise<AttemptOutcome> => {
    const answer = answers[posts.length] ?? { kind: 'ok', statusCode: 200, retryAfterSeconds: null }
    posts.push({ atMs: clock.now().getTime(), target, secret: registration.secret, isAllowed: isAllowed() })
    const durationMs = answer.kind === 'hang' ? target.timeoutMs : 7
    moveTo(clock.now().getTime() + durationMs)
    return outcomeOf(answer, durationMs)
  }
  const deps = {
    signers: createSigners({ decrypt: (stored) => stored }),
    cipher: { decrypt: (stored: string) => stored },
    clock,
    receiver: { post },
    serviceName: 'Service',
    random: () => random,
  }

  let status: 'pending' | 'skipped' | 'delivered' | 'dead' = 'pending'
  let dueAtMs = START.getTime()
  while (status === 'pending') {
    moveTo(dueAtMs)
    if (!isAllowed()) {
      status = 'skipped'
      break
    }
    const record = await makeAttempt(deps, begin(registration.secret, rows.length + 1))
    rows.push({ ...record, atMs: clock.now().getTime() })
    if (record.next instanceof Date) dueAtMs = record.next.getTime()
    else status = record.next
  }
  return { status, posts, rows }
}

const begin = (secret: string, attempt: number): StartedAttempt => ({
  companyId: 1,
  deliveryId: 2,
  registrationId: 3,
  round: 1,
  attempt,
  event: 'whatsapp.message.received',
  eventId: 'wamid.A',
  body: BODY,
  url: 'https://receiver.example/',
  method: 'POST',
  staticHeaders: null,
  secret,
  waits: false,
})

function outcomeOf({ kind, statusCode, retryAfterSeconds }: Answer, durationMs: number): AttemptOutcome {
  if (kind === 'ok')
    return { kind: 'delivered', statusCode, response: '', errorMessage: null, retryAfterSeconds, durationMs }
  if (kind === 'refused') {
    return {
      kind: 'refused',
      statusCode,
      response: 'no',
      errorMessage: `the receiver answered ${statusCode}`,
      retryAfterSeconds,
      durationMs,
    }
  }
  return {
    kind: 'unreachable',
    statusCode: null,
    response: null,
    errorMessage: 'no answer',
    retryAfterSeconds: null,
    durationMs,
  }
}

it('attempts, gaps, rows and signatures are as specified, whatever the receiver and its owner do', {
  timeout: 300_000,
}, async () => {
  const ends = { pending: 0, skipped: 0, delivered: 0, dead: 0 }
  await fc.assert(
    fc.asyncProperty(
      fc.array(anyAnswer, { minLength: 5, maxLength: 5 }),
      fc.array(anyAct, { maxLength: 6 }),
      fc.double({ min: 0, max: 0.999, noNaN: true }),
      async (answers, acts, random) => {
        const { status, posts, rows } = await play(answers, acts, random)
        ends[status] += 1
        // One row per attempt, numbered 1 to at most 5; none starts while forbidden.
        expect(rows).toHaveLength(posts.length)
        expect(rows.map(({ attempt }) => attempt)).toEqual(rows.map((_, index) => index + 1))
        expect(posts.length).toBeLessThanOrEqual(5)
        expect(posts.every(({ isAllowed }) => isAllowed)).toBe(true)
        // Ends with the first success, after five failures, or with the registration.
        const successes = rows.filter(({ statusCode }) => statusCode === 204)
        expect(successes).toHaveLength(status === 'delivered' ? 1 : 0)
        if (status === 'delivered') expect(rows.at(-1)?.statusCode).toBe(204)
        if (status === 'dead') {
          expect(rows).toHaveLength(5)
          expect(rows.at(-1)?.errorMessage).toMatch(/^dead-lettered after 5 attempts: /)
        }
        for (const [index, row] of rows.slice(0, -1).entries())
          expect(row.errorMessage, `row ${index}`).not.toMatch(/^dead/)
        // Gaps of 5, 10, 20 and 40 s plus up to 10 %; a 429 or 503 can lengthen one to 5 minutes.
        for (let i = 1; i < posts.length; i += 1) {
          const answer = answers[i - 1]
          const gap = (posts[i]?.atMs ?? 0) - (rows[i - 1]?.atMs ?? 0)
          const asks = answer?.kind === 'refused' && [429, 503].includes(answer.statusCode)
          const asked = asks ? Math.min((answer.retryAfterSeconds ?? 0) * 1_000, 300_000) : 0
          const wait = WAITS_MS[i - 1] ?? 0
          expect(gap).toBeGreaterThanOrEqual(Math.max(wait, asked))
          expect(gap).toBeLessThanOrEqual(Math.max(wait * 1.1, asked))
        }
        // Always the same bytes and id, signed with the current secret.
        for (const { target, secret } of posts) {
          expect(target.body.toString()).toBe(BODY)
          expect(target.headers['X-Service-Delivery']).toBe('wamid.A')
          expect(target.headers['X-Service-Signature']).toBe(signatureOf(secret, BODY))
        }
      },
    ),
    { numRuns: propertyRuns(1_000) },
  )
  for (const end of ['skipped', 'delivered', 'dead'] as const) expect(ends[end], end).toBeGreaterThan(100)
})
