import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
const NEEDED = ['bin', 'src', 'sandbox', 'migrations', 'packages', 'package.json']

/** A guard of the service: the text that makes it, and the text without it. */
export type Guard = { name: string; file: string; text: string; without: string }

/** The company in the look-up of a registration: without it, a foreign id finds the neighbour's registration. */
export const COMPANY_OF_REGISTRATIONS: Guard = {
  name: 'the company in the look-up of a registration',
  file: 'src/webhooks/registration-store.ts',
  text: `where company_id = ${'$'}{companyId} and id = ${'$'}{id} and deleted_at is null`,
  without: `where id = ${'$'}{id} and deleted_at is null`,
}

/** A copy of this checkout in which one guard is missing, to show that the run notices. */
export function copyWithout({ file, text, without }: Guard): { root: string; remove: () => void } {
  const root = mkdtempSync(join(tmpdir(), 'parley-control-'))
  for (const name of NEEDED) cpSync(join(ROOT, name), join(root, name), { recursive: true })
  symlinkSync(join(ROOT, 'node_modules'), join(root, 'node_modules'))
  const source = readFileSync(join(root, file), 'utf8')
  if (!source.includes(text)) throw new Error(`${file} has no guard "${text}"`)
  writeFileSync(join(root, file), source.replaceAll(text, without))
  return { root: `${root}/`, remove: () => rmSync(root, { recursive: true, force: true }) }
}
