const IS_SOURCE = import.meta.url.endsWith('.ts')

/** The repository or build folder; in a build, every program is a bundle in `src/`. */
export const ROOT = new URL(IS_SOURCE ? '../..' : '..', import.meta.url)

export function programFile(path: `${string}.ts`): URL {
  if (IS_SOURCE) return new URL(path, ROOT)
  const folder = path.slice(0, path.indexOf('/') + 1)
  return new URL(`${folder}${path.slice(path.lastIndexOf('/') + 1).replace(/\.ts$/, '.js')}`, ROOT)
}
