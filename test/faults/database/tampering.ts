import { spawnSync } from 'node:child_process'
import { closeSync, mkdtempSync, openSync, rmSync, writeFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { findBinaries } from '../../../src/db/embedded/package.ts'
import { temporaryFolder } from '../../temporary-folder.ts'

const SOURCE = fileURLToPath(new URL('tampering.c', import.meta.url))
const BROKEN_AT = 8

/** A PostgreSQL whose clock and files a run controls. */
export type Tampering = {
  /** The program to start instead of `postgres`. */
  program: string
  /** Sets how far its clock is ahead, in milliseconds. */
  setClock(aheadMs: number): void
  /** Lets the files of tables fail with EIO, or work again. */
  breakFiles(areBroken: boolean): void
  remove(): void
}

/** Builds the library that is preloaded; undefined where there is no C compiler, or no Linux. */
export async function createTampering(): Promise<Tampering | undefined> {
  if (process.platform !== 'linux') return undefined
  const folder = mkdtempSync(join(temporaryFolder(), 'parley-tampering-'))
  const [library, control, program] = ['tampering.so', 'control', 'postgres'].map((name) => join(folder, name))
  const remove = () => rmSync(folder, { recursive: true, force: true })
  const built = spawnSync('cc', ['-shared', '-fPIC', '-O1', '-w', '-o', String(library), SOURCE, '-ldl'])
  if (built.status !== 0 || control === undefined || program === undefined) {
    remove()
    return undefined
  }
  const { postgres } = await findBinaries()
  spawnSync('chmod', ['0755', folder])
  writeFileSync(control, Buffer.alloc(16), { mode: 0o644 })
  writeFileSync(program, `#!/bin/sh\nLD_PRELOAD=${library} TAMPERING_FILE=${control} exec ${postgres} "$@"\n`, {
    mode: 0o755,
  })
  const write = (value: bigint, place: number) => {
    const bytes = Buffer.alloc(8)
    bytes.writeBigInt64LE(value)
    const file = openSync(control, 'r+')
    writeSync(file, bytes, 0, 8, place)
    closeSync(file)
  }
  return {
    program,
    setClock: (aheadMs) => write(BigInt(Math.round(aheadMs)) * 1_000n, 0),
    breakFiles: (areBroken) => write(areBroken ? 1n : 0n, BROKEN_AT),
    remove,
  }
}
