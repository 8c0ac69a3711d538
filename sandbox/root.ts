/** The folder above that of the sandbox: the repository, or `dist` in a build. */
export const ROOT = new URL('..', import.meta.url)
