import { globSync, readFileSync } from 'node:fs'
import { basename, dirname, join, normalize } from 'node:path'
import { testFiles } from '../run/projects.ts'

/** A quick test over all rooms of companies whose rows have the same ids. */
const CROSS_COMPANY = 'test/companies/same-ids.test.ts'
/** Test files of a room that stand outside of it, by a part of their names. */
const OUTSIDE: Record<string, RegExp> = {
  companies: /company-removal|permissions/,
  contacts: /erasure|same-ids|contact|lists/,
  conversations: /conversation|inbound|erasure|send|opt-outs|lists|lifetimes|reconnected/,
  emails: /email-tracking|email-sending|emails\.|erasure/,
  http: /idempotency|limits|send\./,
  inbound: /inbound|erasure|forged|transports|group|reconnected/,
  media: /media|erasure|lifetimes/,
  moves: /move-company/,
  'personal-data': /erasure|company-removal/,
  people: /erasure|same-ids|contact|identity|number-change/,
  senders: /company-removal|reconnected|inbound|transports/,
  sends: /send|limits|conversations|erasure|idempotency/,
  templates: /send|company-removal/,
  webhooks: /forward|fairness|erasure|lifetimes|same-ids/,
}
/** Tests that fail when the machine is busy. */
const UNDER_LOAD = /email-load|fairness/
/** The most test files that import a file or its importers, and the most test files of its rooms. */
const IMPORTING = 4
const OF_ROOMS = 8
/** Importers of importers: the number of steps. */
const DEPTH = 3
/** A test file in which every company has a mirror (test/run/mirrors.ts). */
const HAS_MIRRORS = /mirrors: true|startMailing\(|startContacts\(|startImports\(|startErasures\(/

/**
 * The test files that may notice a fault in a file, the closest first: those that import it or its importers; those of its
 * room and of the rooms of its importers, the ones with mirrors and with the words of its path first; the one over all
 * rooms. A SQL function is imported by files that name it.
 */
export function createRelated(root: string): (file: string) => string[] {
  const { unit, database } = testFiles(root)
  const runnable = new Set([...unit, ...database].filter((file) => !UNDER_LOAD.test(file)))
  const importers = readImporters(root)
  const mirrored = new Set(database.filter((one) => HAS_MIRRORS.test(readFileSync(join(root, one), 'utf8'))))
  const isOf = (room: string, test: string) =>
    test.startsWith(`src/${room}/`) || (test.startsWith('test/') && OUTSIDE[room]?.test(basename(test)))
  const likenessTo = (file: string) => {
    const names = namesIn(file)
    return (test: string) => Number(mirrored.has(test)) + [...namesIn(test)].filter((word) => names.has(word)).length
  }
  return (file) => {
    const levels = [[file]]
    for (let depth = 0; depth < DEPTH; depth++)
      levels.push(levels.at(-1)?.flatMap((one) => importers.get(one) ?? []) ?? [])
    const likeness = likenessTo(file)
    const rooms = [...new Set(levels.flat().map(roomOf))]
    const importing = levels.flat().filter((one) => runnable.has(one))
    const ofRooms = database
      .filter((one) => runnable.has(one) && rooms.some((room) => isOf(room, one)))
      .toSorted((a, b) => likeness(b) - likeness(a))
    return [...new Set([...importing.slice(0, IMPORTING), ...ofRooms.slice(0, OF_ROOMS), CROSS_COMPANY])]
  }
}

/** The words of a path, in the singular, without those that say nothing about its topic. */
const namesIn = (file: string): Set<string> => {
  const names = file.match(/[a-z]+/g)?.map((word) => word.replace(/s$/, '')) ?? []
  return new Set(names.filter((word) => !/^(?:src|test|store|sql|t)$/.test(word)))
}

const roomOf = (file: string): string => file.split('/')[1] ?? ''

/** The files that import each file; app and wiring are left out, since they lead to every room. */
function readImporters(root: string): Map<string, string[]> {
  const files = globSync('{src,test}/**/*.{ts,sql}', { cwd: root })
  const functions = files.filter((file) => file.endsWith('.sql')).map((file) => ({ file, pattern: nameOf(file) }))
  const importers = new Map<string, string[]>()
  for (const file of files.filter((one) => !/^src\/(app\.ts|wiring|process)/.test(one))) {
    const text = readFileSync(join(root, file), 'utf8')
    const imported = [...text.matchAll(/from '(\.[^']+)'/g)].map(([, path = '']) =>
      normalize(join(dirname(file), path)),
    )
    const called = functions.filter((one) => one.file !== file && one.pattern.test(text)).map((one) => one.file)
    for (const target of [...imported, ...called]) importers.set(target, [...(importers.get(target) ?? []), file])
  }
  return importers
}

const nameOf = (file: string): RegExp => new RegExp(`\\b${basename(file, '.sql').replaceAll('-', '_')}\\b`)
