import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'

type Operation = { operationId?: string; tags?: string[]; responses: Record<string, unknown> }
const document: {
  paths: Record<string, Record<string, Operation>>
  tags: { name: string }[]
  components: { responses: Record<string, unknown> }
} = JSON.parse(readFileSync(new URL('../openapi.json', import.meta.url), 'utf8'))
const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({ ...operation, name: `${method.toUpperCase()} ${path}` })),
)

test('every operation has an operationId of its own', () => {
  expect(operations.length).toBeGreaterThan(60)
  expect(operations.filter(({ operationId }) => !operationId).map(({ name }) => name)).toEqual([])
  expect(new Set(operations.map(({ operationId }) => operationId)).size).toBe(operations.length)
})

test('every tag that an operation has is declared', () => {
  const declared = new Set(document.tags.map(({ name }) => name))
  const used = operations.flatMap(({ tags = [] }) => tags)
  expect(used.filter((tag) => !declared.has(tag))).toEqual([])
})

test('every operation tells what it answers under overload and to a client that asks too much', () => {
  const incomplete = operations.filter(({ responses }) => !('503' in responses && '429' in responses))
  expect(incomplete.map(({ name }) => name)).toEqual([])
})
