// Bundles programs with the packages that they import: one file each, and files that they share or load when first used.
import { join } from 'node:path'
import { rolldown } from 'rolldown'
import { root } from './files.mjs'

/** `programs` are TypeScript files by the names of their bundles. */
export async function bundle(programs, folder) {
  const input = Object.fromEntries(Object.entries(programs).map(([name, path]) => [name, join(root, path)]))
  const built = await rolldown({ input, platform: 'node' })
  await built.write({ dir: folder, format: 'esm', sourcemap: true, chunkFileNames: '[name]-[hash].js' })
  await built.close()
}
