// Writes what is generated: first the lists of event kinds and providers, from their files; then, from the code and the
// migrations, openapi.json, the types and methods of the client, the lists of the console, and schema.sql. With --check, says
// whether they are up to date.

import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { listFiles } from './generate/list-files.ts'

const ROOT = fileURLToPath(new URL('..', import.meta.url))

await writeAll(listFiles(ROOT))
// Imports the service, which imports the lists.
const { contractFiles } = await import('./generate/contract.ts')
await writeAll(await contractFiles())

async function writeAll(files: Readonly<Record<string, string>>): Promise<void> {
  for (const [name, text] of Object.entries(files)) await write(name, text)
}

async function write(name: string, text: string): Promise<void> {
  const path = join(ROOT, name)
  if (!process.argv.includes('--check')) return writeFile(path, text)
  const kept = await readFile(path, 'utf8').catch(() => '')
  if (kept === text) return
  console.error(`${name} is not what the code says: run npm run generate`)
  process.exitCode = 1
}
