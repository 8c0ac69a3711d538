import { execFileSync } from 'node:child_process'
import { existsSync, symlinkSync } from 'node:fs'
import { mkdir, readdir, rename, rm, stat, utimes } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { checksumOf } from './checksum.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const CACHE = join(ROOT, 'node_modules/.cache/parley-programs')
const SOURCES = [
  'package.json',
  'package-lock.json',
  'scripts/build/{bundle,build-id,sources,undici}.mjs',
  'src/**',
  'sandbox/**',
]
/** Bundles that are kept, the last ones used: another run may start the programs of one. */
const KEPT = 4

/**
 * The path of src/main.js in a bundle of the programs, which is made unless there is one of these sources. It starts with two
 * thirds of the processor time of src/main.ts. dist stays as it is: a service may run it.
 */
export async function bundledMain(): Promise<string> {
  // Copies of the repository may share their packages, and the bundle has links to the copy.
  const folder = join(CACHE, `${checksumOf(SOURCES)}${ROOT.replaceAll(/\W+/g, '-')}`)
  if (!existsSync(folder)) await makeBundle(folder)
  await utimes(folder, new Date(), new Date())
  await removeOthers()
  return join(folder, 'src/main.js')
}

async function makeBundle(folder: string): Promise<void> {
  const unfinished = `${folder}-${process.pid}`
  await mkdir(unfinished, { recursive: true })
  for (const name of ['migrations', 'console']) symlinkSync(join(ROOT, name), join(unfinished, name))
  execFileSync(process.execPath, [join(ROOT, 'scripts/build/bundle.mjs'), unfinished], { stdio: ['ignore', 2, 2] })
  // Another run may have been sooner.
  await rename(unfinished, folder).catch(() => rm(unfinished, { recursive: true, force: true }))
}

async function removeOthers(): Promise<void> {
  const folders = (await readdir(CACHE)).map((name) => join(CACHE, name))
  const used = await Promise.all(folders.map(async (folder) => ({ folder, at: (await stat(folder)).mtimeMs })))
  for (const { folder } of used.toSorted((a, b) => b.at - a.at).slice(KEPT)) {
    await rm(folder, { recursive: true, force: true })
  }
}
