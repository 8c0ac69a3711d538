import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { lintFromString, loadConfig } from '@redocly/openapi-core'
import spectral from '@stoplight/spectral-core'
import rulesets from '@stoplight/spectral-rulesets'
import { expect, test } from 'vitest'

const file = new URL('../../openapi.json', import.meta.url)
const text = readFileSync(file, 'utf8')
const configPath = fileURLToPath(new URL('../../redocly.yaml', import.meta.url))

test('openapi.json passes the recommended rules of Redocly without a warning', async () => {
  const config = await loadConfig({ configPath })
  const problems = await lintFromString({ source: text, absoluteRef: file.pathname, config })
  expect(problems.map(({ ruleId, message, location }) => `${ruleId} ${message} ${location[0]?.pointer}`)).toEqual([])
}, 300_000)

test('openapi.json passes the OpenAPI rules of Spectral without a warning', async () => {
  const linter = new spectral.Spectral()
  // The types of the two packages do not agree.
  linter.setRuleset({ extends: [rulesets.oas as never] })
  const found = await linter.run(JSON.parse(text))
  // An example is data: its own member `example`, as components of templates have, is no example of a schema.
  const problems = found.filter(
    ({ code, path }) => code !== 'oas3-valid-schema-example' || !path.slice(0, -1).includes('example'),
  )
  expect(problems.map(({ code, message, path }) => `${code} ${message} ${path.join('/')}`)).toEqual([])
}, 300_000)

test('the linters find what is wrong with a document', async () => {
  const broken = JSON.stringify({ openapi: '3.1.0', info: { title: 'x', version: '1' }, paths: {} })
  const config = await loadConfig({ configPath })
  const problems = await lintFromString({ source: broken, absoluteRef: file.pathname, config })
  expect(problems.length).toBeGreaterThan(0)
}, 300_000)
