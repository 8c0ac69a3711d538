import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const PROGRAM = fileURLToPath(new URL('./listeners-program.ts', import.meta.url))
const COMMAND = readFileSync(new URL('../../bin/parley', import.meta.url), 'utf8')

test('with the options of the parley command, the listeners of requests do not grow old beside those of connections', () => {
  const options = /^exec "\$node" (.*) "\$main"/m.exec(COMMAND)?.[1]?.split(' ') ?? []
  const promoted = Number(execFileSync(process.execPath, [...options, PROGRAM], { encoding: 'utf8' }))
  // Without --no-allocation-site-pretenuring it is about 100 MB.
  expect(promoted).toBeLessThan(5_000_000)
}, 600_000)
