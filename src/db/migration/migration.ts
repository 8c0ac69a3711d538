import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'

export type Migration = { name: string; text: string; checksum: string; breaking: boolean }

/** Marks a migration that older code can't run on. */
const BREAKING = /^--! breaking\b/

export async function readMigrations(folder: string): Promise<Migration[]> {
  const names = (await readdir(folder)).filter((name) => /^[0-9]{4}_.+\.sql$/.test(name)).sort()
  return Promise.all(
    names.map(async (name) => {
      const text = await readFile(join(folder, name), 'utf8')
      return { name, text, checksum: createHash('sha256').update(text).digest('hex'), breaking: BREAKING.test(text) }
    }),
  )
}

export function tablesOf(migrations: Migration[]): string[] {
  const names = new Set<string>()
  for (const { text } of migrations) {
    for (const [, verb, name = ''] of text.matchAll(/^(create|drop)(?: unlogged)? table (?:if exists )?(\w+)/gm)) {
      if (verb === 'create') names.add(name)
      else names.delete(name)
    }
  }
  return [...names]
}
