import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Db } from '../connect.ts'

export type SqlObject = { kind: 'type' | 'view' | 'function'; name: string; file: string; text: string }

/** In dependency order. */
export const KINDS = ['type', 'view', 'function']

/** Reads the objects in creation order. Throws unless each file creates one object with the file's name. */
export async function readSqlObjects(folder: string): Promise<SqlObject[]> {
  const names = await readdir(folder, { recursive: true })
  const files = names.filter((name) => /(^|\/)sql\/[^/]+\.sql$/.test(name)).sort()
  const objects = await Promise.all(
    files.map(async (file) => parseObject(file, await readFile(join(folder, file), 'utf8'))),
  )
  return objects.sort(
    (a, b) => KINDS.indexOf(a.kind) - KINDS.indexOf(b.kind) || Number(uses(a, b)) - Number(uses(b, a)),
  )
}

function uses(a: SqlObject, b: SqlObject): boolean {
  return new RegExp(`\\b${b.name}\\b`).test(a.text)
}

function parseObject(file: string, text: string): SqlObject {
  const [first, second] = [...text.matchAll(/^create (type|view|function) (\w+)/gm)]
  const expected = file.slice(file.lastIndexOf('/') + 1, -'.sql'.length).replaceAll('-', '_')
  const kind = KINDS.find((name) => name === first?.[1])
  if (!kind || !isKind(kind) || first?.[2] !== expected || second) {
    throw new Error(`${file} must create one type, view or function, named ${expected}`)
  }
  return { kind, name: expected, file, text }
}

function isKind(kind: string): kind is SqlObject['kind'] {
  return KINDS.includes(kind)
}

export async function differFromFiles(db: Db, objects: SqlObject[]): Promise<boolean> {
  const { own } = await listCreated(db)
  return !areEqual(own, objects)
}

export type Created = { kind: SqlObject['kind']; name: string; checksum: string; supersededBy: string | null }

/** Lists this version's objects, and those kept for earlier processes. */
export async function listCreated(db: Db): Promise<{ own: Created[]; kept: Created[] }> {
  // A migration may have dropped some with their table.
  const created = await db<Created[]>`
    select kind, name, checksum, superseded_by
    from sql_objects object
    where superseded_by is not null
      or exists (select from pg_proc where proname = name and pronamespace = 'public'::regnamespace and kind = 'function')
      or exists (select from pg_class where relname = name and relnamespace = 'public'::regnamespace and kind <> 'function')
    order by name
  `
  const [own, kept] = [
    created.filter((one) => one.supersededBy === null),
    created.filter((one) => one.supersededBy !== null),
  ]
  return { own, kept }
}

export function areEqual(created: Created[], objects: SqlObject[]): boolean {
  return objects.length === created.length && changedOf(created, objects).length === 0
}

export function changedOf(created: Created[], objects: SqlObject[]): SqlObject[] {
  const checksums = new Map(created.map(({ name, checksum }) => [name, checksum]))
  return objects.filter((object) => checksums.get(object.name) !== checksumOf(object))
}

export function checksumOf({ text }: SqlObject): string {
  return createHash('sha256').update(text).digest('hex')
}
