import { matchesGlob } from 'node:path'
import { expect, test } from 'vitest'
import { testFiles } from './projects.ts'
import { isSlow, JOURNEYS, SLOW } from './slow-files.ts'

const files = Object.values(testFiles(`${import.meta.dirname}/../..`)).flat()
/** `{a,b}.test.ts` as `a.test.ts` and `b.test.ts`: each name must exist. */
const alternatives = (glob: string): string[] => {
  const [all, names] = /\{([^}]+)\}/.exec(glob) ?? []
  if (all === undefined || names === undefined) return [glob]
  return names.split(',').flatMap((name) => alternatives(glob.replace(all, name)))
}

test.each([...SLOW, ...JOURNEYS].flatMap(alternatives))('%s matches a test file', (glob) => {
  expect(files.filter((file) => matchesGlob(file, glob))).not.toEqual([])
})

test('npm test keeps the journeys of the console and leaves out its other browser tests', () => {
  expect(isSlow('test/console/console.test.ts')).toBe(false)
  expect(isSlow('test/console/states/states.test.ts')).toBe(true)
})
