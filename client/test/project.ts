import { execFile } from 'node:child_process'
import { cp, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, delimiter, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const CLIENT = fileURLToPath(new URL('..', import.meta.url))
const MODULES = join(CLIENT, '..', 'node_modules')
const env = {
  ...process.env,
  PATH: [join(MODULES, '.bin'), dirname(process.execPath), process.env.PATH].join(delimiter),
}
const STRICT = ['--strict', '--exactOptionalPropertyTypes', '--noUncheckedIndexedAccess', '--noEmit']

/**
 * A project outside of the repository that installed the packed client, without a network. The client is built in a
 * copy, since several test files build it at the same time.
 */
export async function createProject(manifest: object = { name: 'shop', private: true }) {
  const folder = await mkdtemp(join(tmpdir(), 'parley-client-'))
  await writeFile(join(folder, 'package.json'), JSON.stringify(manifest))
  const run = async (file: string, args: string[], cwd = folder): Promise<string> => {
    const { stdout } = await promisify(execFile)(file, args, { cwd, env }).catch((error) => {
      throw new Error(`${file} ${args.join(' ')}: ${error.stdout}${error.stderr}`)
    })
    return stdout
  }
  const copy = join(folder, 'client')
  await cp(CLIENT, copy, { recursive: true, filter: (path) => !['dist', 'test'].includes(basename(path)) })
  const packed = await run('npm', ['pack', '--offline', '--silent', '--pack-destination', folder], copy)
  const tarball = join(folder, packed.trim().split('\n').at(-1)!)
  await run('npm', ['install', '--offline', '--silent', '--no-audit', '--no-fund', tarball])
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

export type Project = Awaited<ReturnType<typeof createProject>>
