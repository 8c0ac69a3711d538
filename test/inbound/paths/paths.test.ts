import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { providerBodies } from '../../providers/provider-bodies.ts'
import { leavesOf, variantsOf } from './body-paths.ts'
import { PLATFORM_BODIES } from './platform-bodies.ts'
import { whatBecomesOf } from './what-becomes.ts'

/** The rows of the table of the docs; a `**` stands for all that is below. */
const NOT_SHOWN = readFileSync(new URL('../../../docs/webhooks.md', import.meta.url), 'utf8')
  .split('## Values that only `raw` has')[1]
  ?.split('\n## ')[0]
  ?.split('\n')
  .map((line) => /^\| (`.+`) \| (.+) \|$/.exec(line))
  .filter((row) => row !== null)
  .flatMap(([, paths = '', reason = '']) =>
    [...paths.matchAll(/`([^`]+)`/g)].map(([, path = '']) => ({ path, reason })),
  )

/** A row without a field is of every field. */
function isOf(path: string, pattern: string): boolean {
  const own = pattern.includes(': ') ? path : path.slice(path.indexOf(': ') + 1).trim()
  return pattern.endsWith('**') ? own.startsWith(pattern.slice(0, -2)) : own === pattern
}

/** A member that a collected body has made up. */
const INVENTED = 'messages: messages[].context.future_meta_identifier'

/** The paths of bodies, each with whether another value there makes a difference. */
function pathsOf(bodies: readonly unknown[]): Map<string, boolean> {
  const paths = new Map<string, boolean>()
  for (const body of JSON.parse(JSON.stringify(bodies))) {
    const before = whatBecomesOf(JSON.stringify(body))
    for (const leaf of leavesOf(body)) {
      if (paths.get(leaf.path) === true || leaf.path === INVENTED) continue
      const reaches = [...variantsOf(body, leaf)].some((variant) => whatBecomesOf(variant) !== before)
      paths.set(leaf.path, reaches)
    }
  }
  return paths
}

const collected = providerBodies.flatMap(({ body }): unknown[] => {
  try {
    return [JSON.parse(body.toString())]
  } catch {
    return []
  }
})
const rows = NOT_SHOWN ?? []
const paths = pathsOf([...PLATFORM_BODIES, ...collected])

describe('the values of bodies that providers write', () => {
  test('reach a record, an envelope or the journal, or have a row in the docs that says why not', () => {
    const lost = [...paths].filter(([path, reaches]) => !reaches && !rows.some((row) => isOf(path, row.path)))
    expect(lost.map(([path]) => path).sort()).toEqual([])
  })

  test('that have a row in the docs reach none', () => {
    const reached = [...paths].filter(([path, reaches]) => reaches && rows.some((row) => isOf(path, row.path)))
    expect(reached.map(([path]) => path)).toEqual([])
  })

  test('each have one row with a reason', () => {
    expect(rows.length).toBeGreaterThan(50)
    expect(new Set(rows.map(({ path }) => path)).size).toBe(rows.length)
    expect(rows.filter(({ reason }) => reason.length < 10)).toEqual([])
  })

  // Some values are in collected bodies only.
  test.skipIf(collected.length === 0)('are there for each row', () => {
    const unused = rows.filter(({ path }) => ![...paths.keys()].some((one) => isOf(one, path)))
    expect(unused.map(({ path }) => path)).toEqual([])
  })
})

test('a value that reaches nothing is noticed', () => {
  const [text] = PLATFORM_BODIES
  const lost = JSON.parse(JSON.stringify(text).replace('"type":"text"', '"type":"text","mood":"cheerful"'))
  expect(pathsOf([lost]).get('messages: messages[].mood')).toBe(false)
  expect(pathsOf([lost]).get('messages: messages[].text.body')).toBe(true)
})
