import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { lintFromString, loadConfig } from '@redocly/openapi-core'
import { expect, test } from 'vitest'

const file = new URL('../../openapi.json', import.meta.url)
const text = readFileSync(file, 'utf8')
const configPath = fileURLToPath(new URL('../../redocly.yaml', import.meta.url))

test('openapi.json passes the recommended rules of Redocly without a warning', async () => {
  const config = await loadConfig({ configPath })
  const problems = await lintFromString({ source: text, absoluteRef: file.pathname, config })
  expect(problems.map(({ ruleId, message, location }) => `${ruleId} ${message} ${location[0]?.pointer}`)).toEqual([])
}, 300_000)

test('the linter finds what is wrong with a document', async () => {
  const broken = JSON.stringify({ openapi: '3.1.0', info: { title: 'x', version: '1' }, paths: {} })
  const config = await loadConfig({ configPath })
  const problems = await lintFromString({ source: broken, absoluteRef: file.pathname, config })
  expect(problems.length).toBeGreaterThan(0)
}, 300_000)
