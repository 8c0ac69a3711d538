import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { SyntaxNode } from '@lezer/common'
import { parser } from '@prometheus-io/lezer-promql'
import { beforeAll, describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { createTestDatabase } from '../database.ts'
import { startParley, until } from '../parley-process.ts'
import { has } from './deploy-files.ts'

const file = (path: string) => fileURLToPath(new URL(`../../${path}`, import.meta.url))
const database = await createTestDatabase()

type Sample = { name: string; labels: Record<string, string>; value: number }
/** The first scrape, before any other request. */
let first: string
/** After one request. */
let samples: Sample[]

beforeAll(async () => {
  const stops: (() => void)[] = []
  const parley = await startParley(
    {
      DATABASE_URL: database.url,
      ADMIN_TOKEN: 'operator-token-for-tests-0123456789',
      ENCRYPTION_KEY: Buffer.alloc(32).toString('base64'),
    },
    { whenDone: (stop: () => void) => stops.push(stop) },
  )
  const scrape = async () => (await fetch(`${parley.address}/metrics`)).text()
  first = await scrape()
  await until('the first scrape is counted', async () => {
    samples = readSamples(await scrape())
    return samples.some(({ name }) => name === 'parley_http_request_duration_seconds_bucket')
  })
  return () => stops.forEach((stop) => void stop())
})

function readSamples(scrape: string): Sample[] {
  const lines = scrape.split('\n').filter((line) => line !== '' && !line.startsWith('#'))
  return lines.map((line) => {
    const [, name = '', labels = '', value] = /^(\w+)(?:\{(.*)\})? (\S+)/.exec(line) ?? expect.fail(line)
    const pairs = [...labels.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)].map(([, label = '', text = '']) => [label, text])
    return { name, labels: Object.fromEntries(pairs), value: Number(value) }
  })
}

type Selector = { text: string; name: string; matchers: { label: string; operator: string; value: string }[] }

/** The selectors of an expression, and the labels that it groups by. */
function readExpression(expression: string): { selectors: Selector[]; groupings: string[] } {
  const text = expression.replaceAll('$__rate_interval', '5m')
  const selectors: Selector[] = []
  const groupings: string[] = []
  const of = (node: { from: number; to: number }) => text.slice(node.from, node.to)
  parser.parse(text).iterate({
    enter: ({ node, name }) => {
      if (name === '⚠') throw new Error(`cannot be parsed: ${expression}`)
      if (name === 'VectorSelector') selectors.push(toSelector(node, of))
      if (name === 'LabelName' && node.parent?.name === 'GroupingLabels') groupings.push(of(node))
    },
  })
  return { selectors, groupings }
}

function toSelector(node: SyntaxNode, of: (node: SyntaxNode) => string): Selector {
  const matchers: Selector['matchers'] = []
  node.cursor().iterate(({ node: inner, name }) => {
    if (name !== 'UnquotedLabelMatcher') return
    const part = (kind: string) => of(inner.getChild(kind) ?? expect.fail(`${kind} in ${of(inner)}`))
    matchers.push({ label: part('LabelName'), operator: part('MatchOp'), value: JSON.parse(part('StringLiteral')) })
  })
  return { text: of(node), name: of(node.getChild('Identifier') ?? expect.fail(of(node))), matchers }
}

/** Metrics that a scrape itself adds. */
const TARGET = ['job', 'instance']

const fits =
  ({ name, matchers }: Selector) =>
  (sample: Sample) =>
    sample.name === name &&
    matchers.every(({ label, operator, value }) => {
      const found = sample.labels[label] ?? ''
      const pattern = new RegExp(`^(?:${value})$`)
      if (operator === '=') return found === value
      if (operator === '!=') return found !== value
      return operator === '=~' ? pattern.test(found) : !pattern.test(found)
    })

function expectToSelect(expression: string): void {
  const { selectors, groupings } = readExpression(expression)
  expect(selectors.length).toBeGreaterThan(0)
  for (const selector of selectors) {
    if (selector.name === 'up') {
      expect(selector.matchers.every(({ label }) => TARGET.includes(label))).toBe(true)
      continue
    }
    expect(samples.filter(fits(selector)), selector.text).not.toEqual([])
  }
  const labels = new Set(
    samples
      .filter((sample) => selectors.some(({ name }) => name === sample.name))
      .flatMap((sample) => Object.keys(sample.labels)),
  )
  expect(groupings.filter((label) => !labels.has(label) && !TARGET.includes(label))).toEqual([])
}

test('a service without requests shows fewer than 650 lines', () => {
  expect(first.split('\n').length).toBeLessThan(650)
})

type Rule = { alert: string; expr: string; annotations: { runbook?: string } }
const rules: Rule[] = parse(readFileSync(file('deploy/alerts.yml'), 'utf8')).groups.flatMap(
  (group: { rules: Rule[] }) => group.rules,
)

test('each alert links to its section of the runbook, and each section has an alert', () => {
  const sections = [...readFileSync(file('docs/runbook.md'), 'utf8').matchAll(/^## (\w+)$/gm)].map(([, name]) => name)
  expect(rules.map(({ alert }) => alert)).toEqual(sections)
  expect(rules.map(({ annotations }) => annotations.runbook)).toEqual(
    rules.map(({ alert }) => `docs/runbook.md#${alert.toLowerCase()}`),
  )
})

describe('every selector finds a series after one request', () => {
  const { panels }: { panels: { title: string; targets: { expr: string }[] }[] } = JSON.parse(
    readFileSync(file('deploy/grafana.json'), 'utf8'),
  )

  test.each(rules.map(({ alert, expr }) => [alert, expr]))('of the alert %s', (_alert, expr) => expectToSelect(expr))

  test.each(
    panels.flatMap(({ title, targets }) => targets.map(({ expr }) => [title, expr])),
  )('of the panel %s', (_title, expr) => expectToSelect(expr))

  test('and one that finds none is noticed', () => {
    expect(() => expectToSelect('rate(parley_http_requests_total{status="5xx"}[5m])')).toThrow('status="5xx"')
    expect(() => expectToSelect('sum by (colour) (parley_events_waiting)')).toThrow('colour')
    expect(() => expectToSelect('sum(parley_nothing_total')).toThrow('cannot be parsed')
  })
})

test('every label set that an alert counts begins at 0', () => {
  const series = (name: string) => samples.filter((sample) => sample.name === name)
  const outcomes = (name: string) => [...new Set(series(name).map(({ labels }) => labels.outcome))].sort()
  expect(outcomes('parley_sends_total')).toEqual(['accepted', 'refused', 'throttled', 'unknown', 'unreachable'])
  expect(outcomes('parley_webhook_attempts_total')).toEqual(['dead', 'delivered', 'expired', 'failed'])
  expect(outcomes('parley_imports_total')).toEqual(['completed', 'failed'])
  expect(outcomes('parley_email_attempts_total')).toEqual(
    [
      'accepted',
      'refused',
      'unknown',
      'withheld',
      'connection',
      'timeout',
      'greeting',
      'tls',
      'login',
      'not-configured',
    ].sort(),
  )
  const send = series('parley_http_requests_total').filter(
    ({ labels }) => labels.route === '/public/v1/templates/whatsapp/send',
  )
  expect(send.map(({ labels }) => labels.status)).toEqual(['500'])
  for (const name of [
    'parley_sends_total',
    'parley_webhook_attempts_total',
    'parley_imports_total',
    'parley_email_attempts_total',
  ]) {
    expect(series(name).every(({ value }) => value === 0)).toBe(true)
  }
  expect(series('parley_mail_servers_failing')).toHaveLength(6)
})

test.skipIf(!has('promtool'))('Prometheus takes deploy/alerts.yml', () => {
  const { status, stderr } = spawnSync('promtool', ['check', 'rules', file('deploy/alerts.yml')], { encoding: 'utf8' })
  expect(status, stderr).toBe(0)
})
