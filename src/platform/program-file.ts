const IS_SOURCE = import.meta.url.endsWith('.ts')

/** The folder of the repository or of a build, in which every program of the service is a bundle in `src/`. */
export const ROOT = new URL(IS_SOURCE ? '../..' : '..', import.meta.url)

/** The address of a program that is started by another one, by its path in the repository. */
export function programFile(path: `${string}.ts`): URL {
  if (IS_SOURCE) return new URL(path, ROOT)
  const folder = path.slice(0, path.indexOf('/') + 1)
  return new URL(`${folder}${path.slice(path.lastIndexOf('/') + 1).replace(/\.ts$/, '.js')}`, ROOT)
}
