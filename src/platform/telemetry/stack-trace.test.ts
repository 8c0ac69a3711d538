import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { expect, test } from 'vitest'
import { createTestFolder } from '../../../test/temporary-folder.ts'

/** Line 1, column 21 of the bundle is line 7, column 5 of the source. */
const MAP = { version: 3, sources: ['../src/source.ts'], names: [], mappings: 'oBAMI' }
const MODULE = new URL('./stack-trace.ts', import.meta.url)

/** The stack of an error in a bundle. */
async function stackOf(bundle: string, map?: object): Promise<string> {
  const folder = await createTestFolder()
  const file = join(folder, 'bundle.js')
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}')
  writeFileSync(file, bundle)
  if (map !== undefined) writeFileSync(`${file}.map`, JSON.stringify(map))
  const program = `import { showSourcesInStacks } from '${MODULE}'
showSourcesInStacks()
try { (await import('${pathToFileURL(file)}')).fail() } catch (error) { console.log(error.stack) }`
  return execFileSync(process.execPath, ['--input-type=module', '-e', program], { encoding: 'utf8' })
}

test('a stack names the line of the source', async () => {
  const stack = await stackOf("export const fail = () => { throw new TypeError('broken') }", MAP)
  expect(stack).toMatch(/^TypeError: broken\n {4}at Module.fail \(file:\/\/\S+\/src\/source\.ts:7:5\)\n/)
})

test.each([
  ['no map', undefined],
  ['a damaged map', []],
])('a stack of a file with %s names the file', async (_, map) => {
  const stack = await stackOf("export const fail = () => { throw new TypeError('broken') }", map)
  expect(stack).toMatch(/^TypeError: broken\n {4}at Module.fail \(file:\/\/\S+\/bundle\.js:1:35\)\n/)
})

test('a thrown object that has no text still has a stack', async () => {
  const stack = await stackOf(
    'export const fail = () => { const e = { toString: () => { throw 1 } }; Error.captureStackTrace(e); throw e }',
  )
  expect(stack).toMatch(/^Error\n {4}at Module.fail /)
})
