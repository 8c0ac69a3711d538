import { expect, test } from 'vitest'
import { figure, ratioFigure, summaryOf, tableOf } from './figure.ts'

const limitedBy = 'Both processors are busy.'
const beside = { baseline: 'bare client', baselineValue: 30_000 }
const missed = ratioFigure('forward: delivered', 6_000, 'deliveries/s', beside, { atLeast: 0.4, limitedBy })
const met = figure('forward: p99', 91.25, 'ms', { atMost: 100, limitedBy })
const check = figure('forward: lost', 1, 'messages', { atMost: 0 })
const plain = figure('forward: p50', 41.2, 'ms')

test('A table ends each line with met, with the reason of a missed speed goal, or with the mark of a missed check', () => {
  const lines = tableOf([missed, met, check, plain]).split('\n')
  expect(lines.slice(2).map((line) => line.split(/ {2,}/))).toEqual([
    ['forward: delivered', '6,000 deliveries/s', 'bare client: 30,000', '0.20', '>= 0.4 of it', limitedBy],
    ['forward: p99', '91.3 ms', '<= 100 ms', 'met'],
    ['forward: lost', '1 messages', '<= 0 messages', 'NOT MET'],
    ['forward: p50', '41.2 ms'],
  ])
})

test('The summary of a run is a table of Markdown with every speed goal and nothing else', () => {
  expect(summaryOf([missed, check, met, plain])).toBe(
    [
      '| Figure | Value | Beside it | Ratio | Goal | Met, or the reason |',
      '| --- | --- | --- | --- | --- | --- |',
      `| forward: delivered | 6,000 deliveries/s | bare client: 30,000 | 0.20 | >= 0.4 of it | ${limitedBy} |`,
      '| forward: p99 | 91.3 ms |  |  | <= 100 ms | met |',
    ].join('\n'),
  )
})

test('A run without speed goals has no summary', () => {
  expect(summaryOf([check, plain])).toBeUndefined()
})

test('A speed goal is met at its bound', () => {
  expect(figure('sends', 400, 'sends/s', { atLeast: 400, limitedBy }).met).toBe(true)
  expect(figure('memory', 200, 'MB', { atMost: 200, limitedBy }).met).toBe(true)
  expect(figure('memory', 201, 'MB', { atMost: 200, limitedBy }).met).toBe(false)
})
