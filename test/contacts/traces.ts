import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Db } from '../../src/db/connect.ts'

/** The tables and files that hold one of the texts: in any column, as bytes, or in base64 as in wamids. */
export async function tracesOf(
  { db, folder }: { db: Db; folder: string },
  texts: readonly string[],
): Promise<string[]> {
  const forms = texts.flatMap((text) => [
    text.toLowerCase(),
    Buffer.from(text).toString('hex'),
    Buffer.from(text).toString('base64').replaceAll('=', '').slice(0, -1).toLowerCase(),
  ])
  const tables = await db<{ name: string }[]>`
    select relname as name from pg_class where relnamespace = 'public'::regnamespace and relkind in ('r', 'p')
  `
  const found: string[] = []
  for (const { name } of tables) {
    const rows = await db`
      select from ${db(name)} as stored, unnest(${forms}::text[]) as form (text)
      where position(form.text in lower(stored::text)) > 0
      limit 1
    `
    if (rows.length > 0) found.push(name)
  }
  for (const file of await readdir(folder, { recursive: true, withFileTypes: true })) {
    if (!file.isFile()) continue
    // A file may be removed between the list and the read.
    const bytes = await readFile(join(file.parentPath, file.name)).catch(() => '')
    const text = bytes.toString('latin1').toLowerCase()
    if (forms.some((form) => text.includes(form))) found.push(file.name)
  }
  return found.sort()
}
