import { expect, test } from 'vitest'
import { startTestService } from '../../test/service.ts'

const service = await startTestService()
const company = await service.createCompany()

type Listed = { name: string; language: string; status: string; category: string; components: { text?: string }[] }

async function list(query: string): Promise<Listed[]> {
  const { status, body } = await company.api('GET', `/templates/whatsapp${query}`)
  expect(status).toBe(200)
  return body.data
}

test.each(['status', 'category', 'language'] as const)('the list of templates is filtered by %s', async (member) => {
  const all = await list('')
  const [first] = all
  const filtered = await list(`?${member}=${first?.[member]}`)
  expect(filtered).toEqual(all.filter((template) => template[member] === first?.[member]))
  expect(filtered.length).toBeGreaterThan(0)
})

test('filters hold together, a language in any notation', async () => {
  const all = await list('')
  const [first] = all
  const { name, language, status } = first ?? { name: '', language: '', status: '' }
  const written = language.replace('_', '-').toUpperCase()
  const found = await list(`?search=${name.toUpperCase()}&language=${written}&status=${status}`)
  expect(found).toContainEqual(first)
  expect(await list('?status=REJECTED&search=no%20such%20template')).toEqual([])
})

test('a search looks at names and texts', async () => {
  const all = await list('')
  const word = all.flatMap(({ components }) => components.map(({ text = '' }) => text)).find((text) => text !== '')
  const part = (word ?? '').slice(0, 8)
  const found = await list(`?search=${encodeURIComponent(part.toUpperCase())}`)
  expect(found.some(({ components }) => components.some(({ text }) => text?.startsWith(part)))).toBe(true)
})

test.each([
  '?status=approved',
  '?category=OTHER',
  '?language=',
  `?search=${'x'.repeat(201)}`,
])('422 for %s', async (query) => {
  expect((await company.api('GET', `/templates/whatsapp${query}`)).status).toBe(422)
})
