import { globSync, readFileSync } from 'node:fs'
import { basename, dirname, join, normalize } from 'node:path'
import { testFiles } from '../projects.ts'

/** A quick test over all rooms of companies whose rows have the same ids. */
const CROSS_COMPANY = 'test/same-ids.test.ts'
/** Test files of a room that stand outside of it, by a part of their names. */
const OUTSIDE: Record<string, RegExp> = {
  companies: /company-removal|permissions/,
  contacts: /erasure|same-ids|contact|lists/,
  conversations: /conversation|inbound|erasure|send|opt-outs|lists|lifetimes|reconnected/,
  emails: /email-tracking|email-sending|emails\.|erasure/,
  http: /idempotency|limits|send\./,
  inbound: /inbound|erasure|forged|transports|group|reconnected/,
  media: /media|erasure|lifetimes/,
  messages: /send|limits|conversations|erasure|idempotency/,
  moves: /move-company/,
  'personal-data': /erasure|company-removal/,
  senders: /company-removal|reconnected|inbound|transports/,
  templates: /send|company-removal/,
  webhooks: /forward|fairness|erasure|lifetimes|same-ids/,
}
/** Tests that fail when the machine is busy. */
const UNDER_LOAD = /email-load|fairness/
/** Test files that are related to a file, at most; the one over all rooms is added. */
const NEAREST = 6
/** Test files of a room, at most: in it, and outside of it. */
const OF_A_ROOM = 4
/** Importers of importers, so many times over. */
const DEPTH = 3

/**
 * The test files that may notice a fault in a file, the closest first: those that import it or its importers, those of its
 * room and of the rooms of its importers, those over all rooms. A SQL function is imported by files that name it.
 */
export function createRelated(root: string): (file: string) => string[] {
  const { unit, database } = testFiles(root)
  const runnable = new Set([...unit, ...database].filter((file) => !UNDER_LOAD.test(file)))
  const importers = readImporters(root)
  const testsOf = (room: string) => [
    ...database.filter((one) => one.startsWith(`src/${room}/`)).slice(0, OF_A_ROOM),
    ...database.filter((one) => one.startsWith('test/') && OUTSIDE[room]?.test(basename(one))).slice(0, OF_A_ROOM),
  ]
  return (file) => {
    const levels = [[file]]
    for (let depth = 0; depth < DEPTH; depth++)
      levels.push(levels.at(-1)?.flatMap((one) => importers.get(one) ?? []) ?? [])
    const rooms = new Set(levels.flat().map(roomOf))
    const closest = [...levels.flat(), ...[...rooms].flatMap(testsOf)].filter((one) => runnable.has(one))
    return [...[...new Set(closest)].slice(0, NEAREST), CROSS_COMPANY]
  }
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
