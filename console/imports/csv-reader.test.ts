import { expect, test } from 'vitest'
import { createCsvReader, toCsvLine } from './csv-reader.ts'

const TEXT = 'a,b\r\n"x, ""y""",2\n\n ,\n"two\nlines",3\r\nlast,"4"'
const ROWS = [
  ['a', 'b'],
  ['x, "y"', '2'],
  ['two\nlines', '3'],
  ['last', '4'],
]

test('rows are read from parts of any size, and end where their line ends', () => {
  for (let size = 1; size <= TEXT.length; size += 1) {
    const { push } = createCsvReader()
    const rows = Array.from({ length: Math.ceil(TEXT.length / size) }, (_, at) =>
      push(TEXT.slice(at * size, at * size + size)),
    )
    const all = [...rows.flat(), ...push('', true)]
    expect(all.map(({ cells }) => cells)).toEqual(ROWS)
    expect(all[0]?.end).toBe(5)
    expect(all.at(-1)?.end).toBe(TEXT.length)
  }
})

test('a row that is written is read again', () => {
  expect(ROWS.map((cells) => createCsvReader().push(toCsvLine(cells))[0]?.cells)).toEqual(ROWS)
})
