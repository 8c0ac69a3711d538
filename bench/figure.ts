/** A measured number, and what it was compared with in the same run. */
export type NewFigure = {
  name: string
  value: number
  unit?: string
  /** The same of each of these; a goal is then about the ratio to each of them. */
  than?: Record<string, number>
  /** The goal. */
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

export function figureOf(figure: NewFigure): Figure {
  const { value, unit = '', than = {}, atLeast, atMost } = figure
  const ratios = Object.fromEntries(Object.entries(than).map(([name, other]) => [name, value / other]))
  if (atLeast === undefined && atMost === undefined) return { ...figure, unit, ratios, goal: null, met: null }
  const judged = Object.keys(ratios).length > 0 ? Object.values(ratios) : [value]
  const isMet = (one: number) => one >= (atLeast ?? Number.NEGATIVE_INFINITY) && one <= (atMost ?? Infinity)
  const goal = atLeast === undefined ? `<= ${shorten(atMost ?? 0)}` : `>= ${shorten(atLeast)}`
  return { ...figure, unit, ratios, goal, met: judged.every(isMet) }
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

function cellsOf({ name, value, unit, goal, ratios, met }: Figure): string[] {
  const ratioTexts = Object.entries(ratios).map(([other, ratio]) => `${other} ${ratio.toFixed(2)}`)
  const valueText = `${shorten(value)}${unit.startsWith('/') ? '' : ' '}${unit}`.trim()
  return [name, valueText, goal ?? '', ratioTexts.join(', '), met === null ? '' : met ? 'yes' : 'NO']
}

/** The goals as a table, and the reasons of those that were missed; undefined when there is no goal. */
export function summaryOf(figures: readonly Figure[]): string | undefined {
  const goals = figures.filter(({ goal }) => goal !== null)
  if (goals.length === 0) return undefined
  const missed = Map.groupBy(
    goals.filter(({ met }) => !met),
    ({ reason }) => reason ?? 'not known',
  )
  const reasons = [...missed].map(([reason, some]) => `- ${some.map(({ name }) => name).join('; ')}: ${reason}`)
  const why = `\n\nWhy goals are missed, as this run measured it:\n\n${reasons.join('\n')}`
  return `${tableOf(goals)}${reasons.length > 0 ? why : ''}`
}

const shorten = (value: number): string =>
  Math.abs(value) >= 100 ? Math.round(value).toLocaleString('en-US') : String(Number(value.toPrecision(3)))
