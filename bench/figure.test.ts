import { expect, test } from 'vitest'
import { check, figure, ratioFigure, summaryOf, tableOf } from './figure.ts'

const limitedBy = 'service 0.44 ms, database 0.38 ms each'
const baseline = { baseline: 'bare client', baselineValue: 30_000 }
const missed = ratioFigure('forward: delivered', 6_000, 'deliveries/s', baseline, { atLeast: 0.4, limitedBy })
const met = ratioFigure(
  'forward: p99',
  91.25,
  'ms',
  { baseline: 'pg-boss', baselineValue: 100 },
  { atMost: 1, limitedBy },
)
const lost = check('forward: lost', 1, 'messages')
const plain = figure('forward: p50', 41.2, 'ms')

const cellsOf = (line: string) =>
  line
    .split('|')
    .map((cell) => cell.trim())
    .slice(1, -1)

test('A table ends each line with met, with the reason of a missed goal, or with the mark of a missed check', () => {
  const lines = tableOf([missed, met, lost, plain]).split('\n')
  expect(lines.slice(2).map(cellsOf)).toEqual([
    [
      'forward: delivered',
      '6,000 deliveries/s',
      'bare client: 30,000',
      '0.20',
      '>= 0.4 of it',
      `NOT MET: ${limitedBy}`,
    ],
    ['forward: p99', '91.3 ms', 'pg-boss: 100', '0.91', '<= 1 of it', 'met'],
    ['forward: lost', '1 messages', '', '', '<= 0 messages', 'NOT MET'],
    ['forward: p50', '41.2 ms', '', '', '', ''],
  ])
  expect(new Set(lines.map(({ length }) => length)).size).toBe(1)
})

test('The summary of a run has every goal of speed and counts the checks', () => {
  const [table, line] = summaryOf([missed, lost, met, plain])?.split('\n\n') ?? []
  expect(table).toBe(tableOf([missed, met]))
  expect(line).toBe('Checks of correctness: 0 of 1 met')
  expect(summaryOf([plain])).toBeUndefined()
})

test('A goal is met at its bound', () => {
  expect(figure('memory', 200, 'MB', { atMost: 200 }).met).toBe(true)
  expect(figure('memory', 201, 'MB', { atMost: 200 }).met).toBe(false)
  expect(ratioFigure('sends', 30_000, 'sends/s', baseline, { atLeast: 1 }).met).toBe(true)
})
