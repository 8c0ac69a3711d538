import { expect, test } from 'vitest'
import { projectOf, testFiles } from './projects.ts'

test.each([
  ['src/platform/text/phone.test.ts', "import { parsePhone } from './phone.ts'", 'unit'],
  ['sandbox/graph/send.test.ts', "import { startSandbox } from '../sandbox.ts'", 'unit'],
  ['src/contacts/contact-routes.test.ts', "import { createTestDatabase } from '../../test/database.ts'", 'database'],
  ['src/platform/text/csv.test.ts', "import { propertyRuns } from '../../test/run/property-runs.ts'", 'unit'],
  ['test/contract/legacy.test.ts', '', 'database'],
  ['test/sends/send-crash.test.ts', "import { startParley } from '../parley-process.ts'", 'process'],
  ['src/db/embedded/start.test.ts', "import { spawn } from 'node:child_process'", 'process'],
  ['test/hostile/quick.test.ts', "import { attack } from './run.ts'", 'process'],
  ['test/console/inbox/forms.test.ts', "import { startConsoleWorld } from '../console-world.ts'", 'process'],
  ['client/test/browser.test.ts', "import { chromium } from 'playwright-core'", 'process'],
])('%s with %s is in %s', (file, text, project) => {
  expect(projectOf(file, text)).toBe(project)
})

test('every project has test files, and no file is in two', () => {
  const files = testFiles(`${import.meta.dirname}/../..`)
  expect(Object.values(files).every((project) => project.length > 0)).toBe(true)
  const all = Object.values(files).flat()
  expect(new Set(all).size).toBe(all.length)
})
