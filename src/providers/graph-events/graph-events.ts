import { ITEM_LIMIT } from '../events/bounds.ts'
import type { EventFormat } from '../events/event-reader.ts'
import { memberAt } from '../events/json-member.ts'
import { findIds } from './find-ids.ts'
import type { GraphExtension } from './graph-extension.ts'
import { itemSlicer } from './item-slice.ts'
import { readEntry } from './parse-change.ts'

const NUMBER_NAME = Buffer.from('"phone_number_id"')
const NUMBER_VALUE = /^\s*:\s*"([\w.:-]{1,128})"/
const VALUE_WINDOW = 160

/** Creates Meta's webhook format, `entry[].changes[].value`. `extensions` read additions by other providers. */
export const graphEvents = (extensions: readonly GraphExtension[]): EventFormat => ({
  readItems: (body, { text, deep, itemCount }) => {
    const entries = memberAt(body, 'entry')
    if (!Array.isArray(entries)) return undefined
    const open = { body, deep, extensions, slice: itemSlicer(text, itemCount) }
    return readEntries(open, entries)
  },
  routeKeys,
  idsOf: (raw) => {
    const appNames = extensions.flatMap((extension) => extension.appNames)
    return findIds(raw, appNames)
  },
  signatureOf: (headers) => {
    const signature = headers['x-hub-signature-256']
    const hex = /^sha256=([0-9a-f]{64})$/i.exec(typeof signature === 'string' ? signature : '')?.[1]
    return hex === undefined ? null : Buffer.from(hex, 'hex')
  },
})

function* readEntries(open: Parameters<typeof readEntry>[0], entries: readonly unknown[]) {
  for (const [index, entry] of entries.entries()) yield* readEntry(open, entry, index)
}

function routeKeys(raw: Buffer, limit: number): ReadonlySet<string> {
  const numbers = new Set<string>()
  let read = 0
  for (let at = raw.indexOf(NUMBER_NAME); at !== -1 && numbers.size < limit; at = raw.indexOf(NUMBER_NAME, at)) {
    read += 1
    if (read > ITEM_LIMIT) break
    at += NUMBER_NAME.length
    const number = NUMBER_VALUE.exec(raw.toString('latin1', at, at + VALUE_WINDOW))?.[1]
    if (number !== undefined) numbers.add(number)
  }
  return numbers
}
