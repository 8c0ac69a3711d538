import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { brotliCompress, gzip } from 'node:zlib'
import type { Plugin } from 'vite'

const toBrotli = promisify(brotliCompress)
const toGzip = promisify(gzip)
/** Smaller files fit into one packet anyway. */
const MIN_BYTES = 1_024

/** Writes `.br` and `.gz` beside each text file of the build, so that the server never compresses while it answers. */
export function compress(): Plugin {
  return {
    name: 'compress',
    apply: 'build',
    async writeBundle({ dir = 'dist' }) {
      const names = (await readdir(dir, { recursive: true })).filter((name) => /\.(js|css|html|svg)$/.test(name))
      await Promise.all(names.map((name) => compressFile(join(dir, name))))
    },
  }
}

async function compressFile(path: string): Promise<void> {
  const bytes = await readFile(path)
  if (bytes.length < MIN_BYTES) return
  await Promise.all([
    toBrotli(bytes).then((small) => writeFile(`${path}.br`, small)),
    toGzip(bytes, { level: 9 }).then((small) => writeFile(`${path}.gz`, small)),
  ])
}
