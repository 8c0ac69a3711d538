import { execFileSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { createTestDatabase } from '../../../test/database.ts'

const { url } = await createTestDatabase()
const PROGRAM = fileURLToPath(new URL('../../../test/schema/short-lived-program.ts', import.meta.url))

// With postgres.js, half of the parameters and rows of statements survived into the old generation, where collecting them is
// expensive (docs/decisions/0005-a-driver-of-our-own.md, the sixth defect).
test.each(['statements', 'transactions'])('what %s hold is gone with them', (form) => {
  const measured: number[] = JSON.parse(execFileSync(process.execPath, [PROGRAM, url, form], { encoding: 'utf8' }))
  expect(measured).toHaveLength(5)
  expect(Math.max(...measured), measured.join()).toBeLessThan(2_000)
})
