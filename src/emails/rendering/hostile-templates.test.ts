import { expect, test } from 'vitest'
import { trackedHtml, trackingOf } from '../tracking/track-email.ts'
import { findTrackingOf, prepareTexts } from './mail-worker.ts'
import { plainTextOf } from './plain-text.ts'
import { examineTemplate } from './template-text.ts'

const WHERE_EXP = '{% assign a = (1..2000000) | where_exp: "i", "i > 5" %}'
const NESTED_IFS = `${'{% if a %}'.repeat(20_000)}x${'{% endif %}'.repeat(20_000)}`
const LONG_LOOP = '{% for i in (1..1000000) %}{% for j in (1..1000) %}{% endfor %}{% endfor %}'

/** Turns of the event loop of this process until the work has ended: none while the work blocks it. */
async function turnsDuring<Result>(work: Promise<Result>): Promise<{ turns: number; result: Result }> {
  let turns = 0
  let isRunning = true
  const count = () => {
    turns += 1
    if (isRunning) setTimeout(count, 1)
  }
  setTimeout(count, 1)
  const result = await work
  isRunning = false
  return { turns, result }
}

test.each([
  ['where_exp over 2,000,000 elements', WHERE_EXP],
  ['20,000 nested ifs', NESTED_IFS],
  ['a loop in a loop', LONG_LOOP],
])('a template with %s is refused, and holds up no other work meanwhile', async (_what, html) => {
  const { turns, result } = await turnsDuring(examineTemplate(1, { subject: 'Hello', html, text: null }))
  expect(result.faults).toEqual([
    { path: 'html', message: expect.stringMatching(/takes more than 300 ms|is no template/) },
  ])
  expect(turns).toBeGreaterThan(10)
  // The next task has a worker again.
  expect(await examineTemplate(1, { subject: '{{ a }}' })).toMatchObject({ variables: ['a'], faults: [] })
})

test('a mail of 0.9 MB is read while other work goes on, with the same outcome', async () => {
  const html = '<p>Hello <a href="https://example.com/a">there</a></p>'.repeat(16_000)
  const email = { html, trackOpens: true, trackClicks: true }
  const tracked = await turnsDuring(findTrackingOf(1, 'https://parley.example', email))
  expect(tracked.turns).toBeGreaterThan(10)
  expect(tracked.result).toEqual(await trackingOf('https://parley.example', email))
  const mail = { companyId: 1, id: 2, secret: Buffer.alloc(32), html, text: null }
  expect(await prepareTexts('https://parley.example', mail, tracked.result)).toEqual({
    html: trackedHtml('https://parley.example', mail, tracked.result),
    text: plainTextOf(html),
  })
})
