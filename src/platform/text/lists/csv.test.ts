import { parse } from 'csv-parse'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { DELIMITERS, type Delimiter, FIELD_MAX_BYTES, parseCsvRow, toCsvRow } from './csv.ts'
import { createRecordReader, type ListRecord, RECORD_MAX_BYTES } from './record-reader.ts'

function read(all: Buffer, sizes: readonly number[] = [all.length], delimiter: Delimiter | null = ','): ListRecord[] {
  const bytes = new Uint8Array(all)
  const reader = createRecordReader(delimiter)
  let records: ListRecord[] = []
  for (let at = 0, turn = 0; at < bytes.length; turn += 1) {
    const size = Math.max(1, sizes[turn % sizes.length] ?? 1)
    records = [...records, ...reader.push(bytes.subarray(at, at + size))]
    at += size
  }
  return [...records, ...reader.end()]
}

const textOf = (bytes: Uint8Array) => Buffer.from(bytes).toString()

const rows = (text: string) => read(Buffer.from(text)).map(({ bytes }) => parseCsvRow(textOf(bytes)).fields)

const anyField = fc.oneof(
  fc.string({ unit: 'binary' }).map((text) => text.toWellFormed()),
  fc.string({ unit: fc.constantFrom('a', '=', '-', "'", '1', '"', ',', '\r', '\n', ' ', 'é', '😀', ';') }),
)

test('written rows are read back, however the stream is cut', () => {
  fc.assert(
    fc.property(
      fc.array(fc.array(anyField, { minLength: 1, maxLength: 5 }), { maxLength: 6 }),
      fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1 }),
      (list, sizes) => {
        const bytes = Buffer.from(list.map((fields) => toCsvRow(fields)).join(''))
        const records = read(bytes, sizes)
        expect(records.map((record) => parseCsvRow(textOf(record.bytes)).fields)).toEqual(list)
        expect(records).toEqual(read(bytes))
      },
    ),
    { numRuns: 500 },
  )
})

/** The rows of csv-parse, with the place behind each. It reads well-formed lists only as Parley does. */
async function readWithLibrary(bytes: Buffer, delimiter: Delimiter): Promise<{ fields: string[]; end: number }[]> {
  const parser = parse({ delimiter, info: true, relax_column_count: true, record_delimiter: ['\r\n', '\n'] })
  parser.end(bytes)
  const rows: { fields: string[]; end: number }[] = []
  for await (const { record, info } of parser) rows.push({ fields: record, end: info.bytes })
  return rows
}

test('well-formed rows are those of csv-parse, and end at the same byte', async () => {
  const plain = fc.string({ unit: fc.constantFrom('a', '"', ',', ';', '\t', '\r\n', '\n', ' ', 'é', '😀') })
  const rows = fc.array(fc.array(plain, { minLength: 2, maxLength: 4 }), { minLength: 1, maxLength: 5 })
  await fc.assert(
    fc.asyncProperty(rows, fc.constantFrom(...DELIMITERS), async (list, delimiter) => {
      const bytes = Buffer.from(list.map((fields) => toCsvRow(fields, { delimiter, isRaw: true })).join(''))
      const own = read(bytes, [7], delimiter).map((record) => ({
        fields: parseCsvRow(textOf(record.bytes), delimiter).fields,
        end: record.end,
      }))
      expect(own).toEqual(await readWithLibrary(bytes, delimiter))
      expect(own.map(({ fields }) => fields)).toEqual(list)
    }),
  )
})

test.each(DELIMITERS)('reading can go on at the end of any record, with the same lines: %j', (delimiter) => {
  fc.assert(
    fc.property(fc.array(fc.array(anyField, { minLength: 1, maxLength: 3 }), { maxLength: 5 }), (list) => {
      const bytes = Buffer.from(list.map((fields) => toCsvRow(fields, { delimiter })).join(''))
      const records = read(bytes, [bytes.length], delimiter)
      for (const [place, record] of records.entries()) {
        const line = bytes.subarray(0, record.end).toString('latin1').split('\n').length
        const reader = createRecordReader(delimiter, { byte: record.end, line })
        const rest = [...reader.push(new Uint8Array(bytes.subarray(record.end))), ...reader.end()]
        expect(rest).toEqual(records.slice(place + 1))
      }
    }),
  )
})

test.each([
  [
    'a,b\r\n1,2\r\n',
    [
      ['a', 'b'],
      ['1', '2'],
    ],
  ],
  [
    'a,b\n1,2',
    [
      ['a', 'b'],
      ['1', '2'],
    ],
  ],
  ['"a ""b""","c\r\nd"\r\n', [['a "b"', 'c\r\nd']]],
  [
    'a,\n,\n',
    [
      ['a', ''],
      ['', ''],
    ],
  ],
  ['\r\n\n a \n\n', [[' a ']]],
  [
    '5" pipe,x\n2,y\n',
    [
      ['5" pipe', 'x'],
      ['2', 'y'],
    ],
  ],
  ['""\n', [['']]],
])('%j', (text, expected) => expect(rows(text)).toEqual(expected))

test('records know the line they begin on and where the next begins', () => {
  const text = 'a\r\n"1\n2"\n\n3'
  expect(read(Buffer.from(text)).map(({ line, end }) => [line, end])).toEqual([
    [1, 3],
    [2, 9],
    [5, 11],
  ])
})

test('a field that does not end is reported, and holds no memory', () => {
  const [, open] = read(Buffer.from(`a\n"b${'x'.repeat(RECORD_MAX_BYTES)}`), [1000])
  expect([open?.isTooLong, open?.bytes.length]).toEqual([true, 0])
  expect(parseCsvRow('a,"b')).toEqual({ fields: ['a'], fault: 'a quoted field does not end' })
  expect(parseCsvRow('"a"b').fault).toBe('there is text after the end of a quoted field')
})

test('a field of 64 KiB is read, a larger one is at fault', () => {
  expect(parseCsvRow('é'.repeat(FIELD_MAX_BYTES / 2)).fault).toBeUndefined()
  expect(parseCsvRow(`x,${'é'.repeat(FIELD_MAX_BYTES / 2)}a`).fault).toBe('a field is larger than 65536 bytes')
})

test('without quotes a quote is a character like any other', () => {
  expect(read(Buffer.from('{"a":1}\n"\n'), [3], null).map(({ bytes }) => textOf(bytes))).toEqual(['{"a":1}', '"'])
})

test("what a spreadsheet takes for a formula is written with a leading ', which reading removes", () => {
  for (const [field, written] of [
    ['=1+1', "'=1+1"],
    ['@SUM(A1)', "'@SUM(A1)"],
    ['+cmd', "'+cmd"],
    ['-2+3', "'-2+3"],
    ['\t=1', "'\t'=1"],
    ['=HYPERLINK("x")', `"'=HYPERLINK(""x"")"`],
    // A field that has the ' of its own keeps it.
    ["'=1+1", "''=1+1"],
    // Numbers are no formulas, nor is what only contains one.
    ['+393331234567', '+393331234567'],
    ['-1.5e3', '-1.5e3'],
    ["'-5", "'-5"],
    ["'n", "'n"],
    ['a=1', 'a=1'],
  ] as const) {
    expect(toCsvRow([field])).toBe(`${written}\r\n`)
    expect(parseCsvRow(written).fields).toEqual([field])
    expect(toCsvRow([field], { isRaw: true })).toBe(`${field.includes('"') ? '"=HYPERLINK(""x"")"' : field}\r\n`)
  }
})

describe('a quote that is not closed ends at its line', () => {
  const long = 'x,y\n'.repeat(RECORD_MAX_BYTES / 2)
  test.each([
    ['at the end of the list', 'a,"b\nc,d\ne,f', ['a,"b', 'c,d', 'e,f'], [1, 2, 3]],
    ['before a row with quotes', 'a,"b\nc,d\ne,"f"\n', ['a,"b', 'c,d', 'e,"f"'], [1, 2, 3]],
    ['behind a field of two lines', '"1\n2",a,"b\nc,d', ['"1\n2",a,"b', 'c,d'], [1, 3]],
    ['in two rows', 'a,"b\nc\n"d\ne', ['a,"b', 'c', '"d', 'e'], [1, 2, 3, 4]],
  ])('%s', (_, text, records, lines) => {
    for (const cuts of [[text.length], [1], [3, 5]]) {
      const found = read(Buffer.from(text), cuts)
      expect(found.map(({ bytes }) => textOf(bytes))).toEqual(records)
      expect(found.map(({ line }) => line)).toEqual(lines)
    }
  })

  test('before a long list, however it is cut', () => {
    const text = Buffer.from(`a,"b\n${long}`)
    const expectedLength = 1 + RECORD_MAX_BYTES / 2
    for (const cuts of [[text.length], [65_536], [100_000, 7]]) {
      const records = read(text, cuts)
      expect(records).toHaveLength(expectedLength)
      expect(records.at(-1)?.end).toBe(text.length)
    }
  })
})
