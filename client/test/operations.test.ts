import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { Parley } from '../src/index.ts'

const OPENAPI = new URL('../../openapi.json', import.meta.url)

test('every operation of the company API is a method, and none of the operator or of providers', () => {
  const { paths }: { paths: Record<string, Record<string, { operationId: string }>> } = JSON.parse(
    readFileSync(OPENAPI, 'utf8'),
  )
  const isCompanys = ([path]: [string, unknown]) => !/^\/(admin\/|public\/v1\/webhooks\/whatsapp)/.test(path)
  const operations = Object.entries(paths)
    .filter(isCompanys)
    .flatMap(([, methods]) => Object.values(methods))
  const generated = Object.getOwnPropertyNames(Object.getPrototypeOf(Parley.prototype))
  expect(operations.length).toBeGreaterThan(30)
  expect(generated.filter((name) => name !== 'constructor').sort()).toEqual(
    operations.map(({ operationId }) => operationId).sort(),
  )
})
