import fc from 'fast-check'
import { expect, test } from 'vitest'
import { DELIMITERS, toCsvRow } from '../../src/platform/text/lists/csv.ts'
import { encodeText, LIST_ENCODINGS } from '../../src/platform/text/lists/encoding.ts'
import { readListHead, readRows, toUpload } from './list-file.ts'

const fileOf = (bytes: Uint8Array, name = 'list.csv') => new File([bytes.slice()], name)

async function rowsOf(file: File, named = {}): Promise<unknown[]> {
  const head = await readListHead(file, named)
  if (head === undefined) return []
  const rows: unknown[] = []
  for await (const part of readRows(file, head)) rows.push(...part)
  expect(head.first).toEqual(rows.slice(0, 10))
  return rows
}

test('rows of a file are read in every encoding, and the upload has them under other names', async () => {
  const cell = fc.string({ unit: fc.constantFrom('a', 'é', '€', '"', ',', ';', '\t', '\n', ' ') })
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.tuple(cell, cell), { minLength: 1, maxLength: 12 }),
      fc.constantFrom(...DELIMITERS),
      fc.constantFrom(...LIST_ENCODINGS),
      async (cells, delimiter, encoding) => {
        const list = cells.map((fields) => [...fields, 'ü'])
        const text = [['email', 'Größe', 'x'], ...list].map((one) => toCsvRow(one, { delimiter })).join('')
        const file = fileOf(encodeText(text, encoding)!)
        const head = await readListHead(file, {})
        expect(head).toMatchObject({ columns: ['email', 'Größe', 'x'], delimiter, encoding })
        const expected = list.map((fields) => ({ cells: fields }))
        expect(await rowsOf(file)).toEqual(expected)
        const upload = await toUpload(file, head!, ['email', 'custom_fields.Größe', null])
        expect(upload.encoding).toBe(encoding)
        const sent = fileOf(new Uint8Array(await upload.data.arrayBuffer()))
        const named = { delimiter, encoding: upload.encoding }
        expect((await readListHead(sent, named))?.columns).toEqual(['email', 'custom_fields.Größe', 'left out 3'])
        expect(await rowsOf(sent, named)).toEqual(expected)
      },
    ),
    { numRuns: 100 },
  )
})

test('a field whose name Windows-1252 does not have is sent in UTF-8', async () => {
  const file = fileOf(Buffer.from('email;name\nada@example.com;Zo\xeb\n', 'latin1'))
  const head = await readListHead(file, {})
  const upload = await toUpload(file, head!, ['email', 'custom_fields.名'])
  expect(upload.encoding).toBe('utf-8')
  expect(await upload.data.text()).toBe('email;custom_fields.名\r\nada@example.com;Zoë\n')
})

test('a line of JSON is sent as it was written, under other names', async () => {
  const line =
    '{"mail":"a@example.com", "crm": 12345678901234567890,"e":1e2,"custom_fields":{"a":1.0,"b":"\\u00e9"},"x":null}'
  const file = fileOf(Buffer.from(`${line}\nno json\n`), 'list.ndjson')
  const head = await readListHead(file, {})
  expect(head?.first.map(({ fault }) => fault)).toEqual(['digits', 'broken'])
  const targets = ['email', 'custom_fields.CRM', 'custom_fields.a', 'custom_fields', null]
  const { data } = await toUpload(file, head!, targets)
  expect(await data.text()).toBe(
    '{"email":"a@example.com","custom_fields":{"a":1e2,"b":"\\u00e9","CRM":12345678901234567890}}\nnot an object\n',
  )
})
