import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const LISTENERS = fileURLToPath(new URL('./listeners-program.ts', import.meta.url))
const REQUESTS = fileURLToPath(new URL('./requests-program.ts', import.meta.url))
const COMMAND = readFileSync(new URL('../../bin/parley', import.meta.url), 'utf8')

const OPTIONS = /^exec "\$node" (.*) "\$main"/m.exec(COMMAND)?.[1]?.split(' ') ?? []
const printedBy = (program: string) =>
  Number(execFileSync(process.execPath, [...OPTIONS, program], { encoding: 'utf8' }))

test('with the options of the parley command, the listeners of requests do not grow old beside those of connections', () => {
  // Without --no-allocation-site-pretenuring it is about 100 MB.
  expect(printedBy(LISTENERS)).toBeLessThan(5_000_000)
}, 600_000)

test('answered requests of a kept connection do not grow old', () => {
  // In bytes; a WeakMap from request to exchange made it thousands.
  expect(printedBy(REQUESTS)).toBeLessThan(500)
}, 600_000)
