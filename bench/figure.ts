import { writeFile } from 'node:fs/promises'

/** A measured number, and what it was compared with in the same run. */
export type NewFigure = {
  name: string
  value: number
  unit?: string
  /** The same of each of these; a goal is then about the ratio to each of them. */
  than?: Record<string, number>
  /** The goal. At most 0 is a check of correctness. */
  atLeast?: number
  atMost?: number
  /** Why the goal is missed if it is, as this run measured it. */
  reason?: string
}

export type Figure = NewFigure & {
  unit: string
  ratios: Record<string, number>
  goal: string | null
  met: boolean | null
}

/** A number of faults: none may be there. */
export const check = (name: string, value: number): NewFigure => ({ name, value, atMost: 0 })

export function figureOf(figure: NewFigure): Figure {
  const { value, than = {}, atLeast, atMost } = figure
  const ratios = Object.fromEntries(Object.entries(than).map(([name, other]) => [name, value / other]))
  const judged = Object.keys(ratios).length > 0 ? Object.values(ratios) : [value]
  const [sign, bound] = atLeast === undefined ? ['<=', atMost] : ['>=', atLeast]
  const isMet = (one: number) =>
    one >= (atLeast ?? Number.NEGATIVE_INFINITY) && one <= (atMost ?? Number.POSITIVE_INFINITY)
  return {
    ...figure,
    unit: figure.unit ?? '',
    ratios,
    goal: bound === undefined ? null : `${sign} ${shorten(bound)}`,
    met: bound === undefined ? null : judged.every(isMet),
  }
}

const HEAD = ['Figure', 'Parley', 'Bound', 'Ratio to', 'Met']

/** The figures as a table of Markdown whose columns are aligned. */
export function tableOf(figures: readonly Figure[]): string {
  const rows = [HEAD, ...figures.map(cellsOf)]
  const widths = HEAD.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)))
  const line = (row: string[]) => `| ${row.map((cell, i) => cell.padEnd(widths[i] ?? 0)).join(' | ')} |`
  const rule = widths.map((width) => '-'.repeat(width))
  return [HEAD, rule, ...rows.slice(1)].map(line).join('\n')
}

const cellsOf = ({ name, value, unit, goal, ratios, met }: Figure): string[] => [
  name,
  `${shorten(value)}${unit.startsWith('/') ? '' : ' '}${unit}`.trim(),
  goal ?? '',
  Object.entries(ratios)
    .map(([other, ratio]) => `${other} ${ratio.toFixed(2)}`)
    .join(', '),
  met === null ? '' : met ? 'yes' : 'NO',
]

/** The goals of speed as a table, the checks as one line, and the reasons of missed goals; undefined when there is no goal. */
export function summaryOf(figures: readonly Figure[]): string | undefined {
  const checks = figures.filter(isCheck)
  const goals = figures.filter((one) => one.goal !== null && !isCheck(one))
  const failed = checks.filter(({ met }) => !met).map(({ name, value }) => `- ${name}: ${value}`)
  const missed = Map.groupBy(
    goals.filter(({ met }) => !met),
    ({ reason }) => reason ?? 'not known',
  )
  const reasons = [...missed].map(([reason, some]) => `- ${some.map(({ name }) => name).join('; ')}: ${reason}`)
  const paragraphs = [
    goals.length > 0 ? tableOf(goals) : '',
    checks.length > 0 ? `Checks of correctness: ${checks.length - failed.length} of ${checks.length} met` : '',
    failed.join('\n'),
    reasons.length > 0 ? `Why goals are missed, as this run measured it:\n\n${reasons.join('\n')}` : '',
  ].filter((paragraph) => paragraph !== '')
  return paragraphs.length > 0 ? paragraphs.join('\n\n') : undefined
}

const isCheck = ({ atMost }: Figure) => atMost === 0

const shorten = (value: number): string =>
  Math.abs(value) >= 100 ? Math.round(value).toLocaleString('en-US') : String(Number(value.toPrecision(3)))

/** Writes what a later run, or another machine's, is compared with. */
export const writeReport = (file: string, report: { commit: string; machine: object; figures: readonly Figure[] }) =>
  writeFile(file, `${JSON.stringify(report, undefined, 2)}\n`)
