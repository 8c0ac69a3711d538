import fc from 'fast-check'
import { expect, test } from 'vitest'
import { DELIMITERS, parseCsvRow, toCsvRow } from './csv.ts'
import { decodeBytes, encodeText, LIST_ENCODINGS } from './encoding.ts'
import { createListScan, findDelimiter, type NamedStyle } from './list-scan.ts'
import { createRecordReader } from './record-reader.ts'

/** Scans bytes that come in parts of these sizes; returns the facts and the bytes to keep. */
function scanList(bytes: Uint8Array, sizes: readonly number[], named: NamedStyle = {}) {
  const scan = createListScan('csv', named)
  const kept: Uint8Array[] = []
  for (let at = 0, turn = 0; at < bytes.length; turn += 1) {
    const size = sizes[turn % sizes.length] ?? bytes.length
    kept.push(scan.push(bytes.subarray(at, at + size)))
    at += size
  }
  kept.push(scan.end())
  return { ...scan.facts(), kept: Buffer.concat(kept) }
}

const MARKS = { 'utf-8': [0xef, 0xbb, 0xbf], 'utf-16le': [0xff, 0xfe], 'utf-16be': [0xfe, 0xff], 'windows-1252': [] }

test('a list is found as it was written, however it is cut, and is read on from its first row', () => {
  const cell = fc.string({ unit: fc.constantFrom('a', 'é', 'ü', '€', '"', ',', ';', '\t', '\n', ' ') })
  fc.assert(
    fc.property(
      fc.array(fc.tuple(cell, cell), { minLength: 1, maxLength: 4 }),
      fc.constantFrom(...DELIMITERS),
      fc.constantFrom(...LIST_ENCODINGS),
      fc.boolean(),
      fc.boolean(),
      fc.array(fc.integer({ min: 1, max: 90 }), { minLength: 1, maxLength: 4 }),
      (cells, delimiter, encoding, isMarked, hasSepLine, sizes) => {
        const list = cells.map((fields) => [...fields, 'ü€'])
        const head = ['email', 'Größe', 'x']
        const text = `${hasSepLine ? `sep=${delimiter}\r\n` : ''}${[head, ...list].map((one) => toCsvRow(one, { delimiter })).join('')}`
        const mark = isMarked ? MARKS[encoding] : []
        const bytes = Buffer.concat([Uint8Array.from(mark), encodeText(text, encoding)!])
        const found = scanList(bytes, sizes)
        expect(found).toMatchObject({ encoding, rows: list.length, head: { columns: head, delimiter } })
        expect(found).toEqual(scanList(bytes, [bytes.length]))
        const { readBytes, readLines } = found.head!
        const reader = createRecordReader(delimiter, { byte: readBytes, line: readLines + 1 })
        const records = [...reader.push(new Uint8Array(found.kept.subarray(readBytes))), ...reader.end()]
        expect(records.map((one) => parseCsvRow(decodeBytes(one.bytes, encoding)!, delimiter).fields)).toEqual(list)
      },
    ),
    { numRuns: 300 },
  )
})

test.each([
  ['email;a,b,c', ';'],
  ['a,b;Phone Number;c', ';'],
  ['"E-Mail"\tName, first', '\t'],
  ['email,tags;labels', ','],
  ['a;b;c,d', ';'],
  ['email', ','],
  ['"email;x",a', ','],
] as const)('the separator of %j', (header, delimiter) => expect(findDelimiter(header)).toBe(delimiter))

test('a list without a line end holds no memory and cannot be read', () => {
  const scan = createListScan('csv')
  for (let part = 0; part < 50; part += 1) scan.push(new Uint8Array(65_536).fill(0x61))
  expect(scan.facts().head?.fault).toBe('it is too long')
})

test('blank lines before the first line are passed over', () => {
  const blank = '\r\n;;\r\n , \r\n""\r\n'.repeat(100)
  const { head, rows } = scanList(Buffer.from(`${blank}email;a\r\nx;1\r\n`), [11])
  expect([head?.columns, head?.readLines, rows]).toEqual([['email', 'a'], 401, 1])
})
