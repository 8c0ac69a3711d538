import fc from 'fast-check'
import { expect, test } from 'vitest'
import { fold, indexedText } from './search-text.ts'

test.each([
  ['Marta Rossi', 'marta rossi'],
  ['  José\u00a0 MUÑOZ ', 'jose munoz'],
  ['Jose\u0301', 'jose'],
  ['𝓜𝓪𝓻𝓽𝓪 Ｒｏｓｓｉ', 'marta rossi'],
  ['Łukasz Groß', 'lukasz gross'],
  ['АННА Йонова', 'анна ионова'],
  ['Σοφός', 'σοφοσ'],
  ['김민준', '김민준'],
  ['مُحَمَّد', 'محمد'],
  ['ﾀﾞｲｷ', 'ダイキ'],
  ['Αρμένιος', 'αρμενιοσ'],
  ['l’Été — Jean\u2011Luc', "l'ete - jean-luc"],
  ['ma\u00adr\u200bta\ufe0f', 'marta'],
])('%j is folded to %j', (text, folded) => expect(fold(text)).toBe(folded))

test('every character but ideographs keeps its fold', () => {
  const changed: string[] = []
  const blocks = [
    [1, 0x3400],
    [0xa000, 0xac00],
    [0xf900, 0x12000],
    [0x1d000, 0x20000],
  ] as const
  for (const [first, end] of blocks) {
    for (let code = first; code < end; code += 1) {
      const once = fold(`a${String.fromCodePoint(code)}b`)
      if (fold(once) !== once) changed.push(code.toString(16))
    }
  }
  expect(changed).toEqual([])
})

test('a fold of a fold is the fold', () => {
  const mixed = fc.string({
    unit: fc.oneof(fc.constantFrom(...'ŁøđßıŞİæａｶﾞَّ́̈أ ـ\u200d\u115fㄱ'), fc.string({ unit: 'binary', maxLength: 1 })),
  })
  fc.assert(
    fc.property(mixed, (text) => {
      expect(fold(fold(text))).toBe(fold(text))
    }),
    { numRuns: 500 },
  )
})

test('a part of a folded text is found in its indexed form, and no other part', () => {
  const word = fc.string({ unit: fc.constantFrom(...'abxX1 李明éłａ'), maxLength: 8 })
  fc.assert(
    fc.property(word, word, (text, part) => {
      expect(indexedText(text).includes(indexedText(part))).toBe(fold(text).includes(fold(part)))
    }),
  )
})
