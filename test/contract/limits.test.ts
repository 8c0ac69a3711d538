import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { STORED_BYTES_PER_HOUR } from '../../src/companies/browser-key.ts'
import { STANDARD_SESSION_RATE_LIMIT } from '../../src/companies/company.ts'
import {
  ARRAY_WAIT_MS,
  ARRAYS_WAITING_MAX,
  ROWS_PER_SECOND,
  ROWS_PER_TURN,
} from '../../src/contacts/write/contact-change.ts'
import { AGENT_CONTACTS_LIMIT, SESSION_LIMIT, SIGN_IN_LIMIT } from '../../src/http/admission/rate-limit.ts'
import { connectionBound, SHARE_OF_ADDRESS } from '../../src/http/connections/connection-bounds.ts'
import { MOST_UNANSWERED } from '../../src/http/connections/connections.ts'
import { UPLOAD_BOUNDS, UPLOAD_MS } from '../../src/http/connections/slow-uploads.ts'
import { ANSWER_BOUNDS } from '../../src/http/connections/waiting-answers.ts'
import { LIST_PACE } from '../../src/http/server/answers/answers.ts'
import { METRICS_SPACING_MS } from '../../src/platform/telemetry/metrics.ts'
import { PAIR_BURST, PAIR_SECONDS } from '../../src/sends/batch/decide-sends.ts'

const read = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8')
const openapi = JSON.parse(read('openapi.json'))
const rows = read('docs/limits.md')
  .split('\n')
  .filter((line) => line.startsWith('|'))

const shown = (bound: number): string => bound.toLocaleString('en-US')

type Bound = { name: string; bound: number }
const KEYWORDS = ['maxLength', 'maxItems', 'maxProperties']

/** Every bound of a shape, with the name of the member that has it. */
function boundsOf(shape: unknown, name: string): Bound[] {
  if (typeof shape !== 'object' || shape === null) return []
  const found: Bound[] = []
  for (const [key, value] of Object.entries(shape)) {
    if (KEYWORDS.includes(key) && typeof value === 'number') found.push({ name, bound: value })
    else if (key === '$ref') found.push(...boundsOf(resolve(String(value)), name))
    else if (key === 'properties') {
      for (const [member, its] of Object.entries(value)) found.push(...boundsOf(its, member))
    } else found.push(...boundsOf(value, name))
  }
  return found
}

const resolve = (ref: string): unknown =>
  ref
    .slice(2)
    .split('/')
    .reduce<Record<string, unknown>>((node, part) => node[part] as Record<string, unknown>, openapi)

const ARRAY_OF_CONTACTS = { name: 'body', bound: 1_000 }

test('docs/limits.md has every bound of the bodies that callers with a key send', () => {
  const bodies = Object.entries<Record<string, { requestBody?: unknown }>>(openapi.paths)
    .filter(([path]) => path.startsWith('/public/v1/') || path.startsWith('/api/'))
    .flatMap(([, operations]) => Object.values(operations).map(({ requestBody }) => requestBody))
  const bounds = bodies.flatMap((body) => boundsOf(body, 'body'))
  expect(bounds.length).toBeGreaterThan(30)
  const isListed = ({ name, bound }: Bound) =>
    rows.some((row) => {
      const isOfField = name === ARRAY_OF_CONTACTS.name || new RegExp(`\`(\\w+\\.)?${name}\``).test(row)
      return isOfField && row.includes(bound.toLocaleString('en-US'))
    })
  expect(bounds.filter((one) => !isListed(one))).toEqual([])
})

test('the page of limits states the pace of large work', () => {
  const row = rows.find((line) => line.startsWith('| Contact rows a second'))
  expect(row).toContain(`| ${shown(ROWS_PER_SECOND)}, in turns and statements of ${ROWS_PER_TURN} |`)
  expect(row).toContain(`longer than ${ARRAY_WAIT_MS / 1_000} s, or behind ${ARRAYS_WAITING_MAX} others`)
})

test('the page of limits states the bounds of sessions and of keys for browsers', () => {
  const boundOf = (start: string) => rows.find((line) => line.startsWith(`| ${start}`))?.split(' | ')[1]
  expect(boundOf('Console session requests')).toBe(`${SESSION_LIMIT}; ${SIGN_IN_LIMIT}`)
  expect(boundOf('Console requests per company')).toMatch(shown(STANDARD_SESSION_RATE_LIMIT))
  expect(boundOf('Contacts listed to')).toBe(shown(AGENT_CONTACTS_LIMIT))
  expect(boundOf('Stored bytes per browser key')).toMatch(`${STORED_BYTES_PER_HOUR / 1024 ** 2} MiB, a fifth`)
})

test('the page of limits states the clicks of a mail that are kept', () => {
  const [, bound = ''] =
    /earlier_clicks \+ click.place <= (\d+)/.exec(read('src/emails/sql/count-email-fetches.sql')) ?? []
  const row = rows.find((line) => line.startsWith('| Clicks recorded'))
  expect(row).toContain(`| ${shown(Number(bound))} |`)
})

test('the page of limits states the burst to one customer', () => {
  const row = rows.find((line) => line.startsWith('| Messages to one customer |'))
  expect(row).toContain(`| ${PAIR_BURST} at once, then one every ${PAIR_SECONDS} s |`)
})

test('the page of limits states the bounds of connections, answers and uploads', () => {
  const MIB = 1024 * 1024
  const boundOf = (what: string) => rows.find((line) => line.startsWith(`| ${what}`))?.split(' | ')[1]
  const pace = ({ leastBytesPerSecond: rate, windowSeconds: window }: typeof UPLOAD_BOUNDS) =>
    `${(rate * window) / 1024} KiB every ${window} s (${rate / 1024} KiB a second)`
  expect(boundOf('Unanswered requests per connection')).toContain(`${MOST_UNANSWERED};`)
  expect(boundOf('Slowly read answer')).toContain(pace(ANSWER_BOUNDS))
  expect(boundOf('Unfinished upload or import')).toContain(pace(UPLOAD_BOUNDS))
  expect([UPLOAD_MS, boundOf('A whole request')]).toEqual([3_600_000, '1 hour to arrive'])
  const { budget, groupShare } = ANSWER_BOUNDS
  const whole = `${budget / MIB} MiB; ${(budget * groupShare) / MIB} MiB per company or address`
  expect(boundOf('Answers waiting a quarter of a second')).toContain(whole)
  expect([LIST_PACE.perSecond / MIB, LIST_PACE.burst / 1024]).toEqual([8, 128])
  expect(boundOf('List text above 128 Ki characters')).toContain('8 Mi characters a second')
  expect(boundOf('Client connections')).toContain(connectionBound(Number.POSITIVE_INFINITY).toLocaleString('en-US'))
  expect([METRICS_SPACING_MS, boundOf('`/metrics` computations')]).toEqual([1_000, 'once a second; not configurable'])
  expect(SHARE_OF_ADDRESS).toBe(1 / 4)
  for (const what of ['Connections per client address', 'Requests in flight per client address']) {
    expect(boundOf(what)).toBe('a quarter')
  }
})
