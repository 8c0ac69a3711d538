import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { cp, mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, delimiter, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { checksumOf } from '../../test/run/checksum.ts'

const CLIENT = fileURLToPath(new URL('..', import.meta.url))
const MODULES = join(CLIENT, '..', 'node_modules')
const CACHE = join(MODULES, '.cache/parley-client')
/** The files that the package is made from, and the compiler. */
const SOURCES = ['client/*', 'client/src/**', 'package-lock.json']
const env = {
  ...process.env,
  PATH: [join(MODULES, '.bin'), dirname(process.execPath), process.env.PATH].join(delimiter),
}
const STRICT = ['--strict', '--exactOptionalPropertyTypes', '--noUncheckedIndexedAccess', '--noEmit']

/** A project outside of the repository that installed the packed client, without a network. */
export async function createProject(manifest: object = { name: 'shop', private: true }) {
  const folder = await mkdtemp(join(tmpdir(), 'parley-client-'))
  await writeFile(join(folder, 'package.json'), JSON.stringify(manifest))
  const run = (file: string, args: string[]) => runIn(folder, file, args)
  await run('npm', ['install', '--offline', '--silent', '--no-audit', '--no-fund', await packedClient()])
  return {
    folder,
    run,
    write: async (name: string, text: string): Promise<string> => {
      await writeFile(join(folder, name), text)
      return name
    },
    /** Checks a file in strict TypeScript; fails with what the compiler says. */
    compile: (file: string, ...options: string[]): Promise<string> =>
      run('tsc', [...STRICT, '--target', 'es2022', ...options, file]),
    typeRoots: join(MODULES, '@types'),
    remove: () => rm(folder, { recursive: true, force: true }),
  }
}

async function runIn(cwd: string, file: string, args: string[]): Promise<string> {
  const { stdout } = await promisify(execFile)(file, args, { cwd, env }).catch((error) => {
    throw new Error(`${file} ${args.join(' ')}: ${error.stdout}${error.stderr}`)
  })
  return stdout
}

/**
 * The package of the client, built in a copy unless there is one of these sources: test files share it, since building it takes
 * several seconds of processor time.
 */
async function packedClient(): Promise<string> {
  const tarball = join(CACHE, `client-${checksumOf(SOURCES)}.tgz`)
  if (existsSync(tarball)) return tarball
  const folder = await mkdtemp(join(tmpdir(), 'parley-client-'))
  const copy = join(folder, 'client')
  await cp(CLIENT, copy, { recursive: true, filter: (path) => !['dist', 'test'].includes(basename(path)) })
  const packed = await runIn(copy, 'npm', ['pack', '--offline', '--silent', '--pack-destination', folder])
  await mkdir(CACHE, { recursive: true })
  const unfinished = `${tarball}-${process.pid}`
  await cp(join(folder, packed.trim().split('\n').at(-1)!), unfinished)
  await rename(unfinished, tarball)
  await rm(folder, { recursive: true, force: true })
  return tarball
}

export type Project = Awaited<ReturnType<typeof createProject>>
