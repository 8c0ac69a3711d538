/** The address of a program beside the file at `base`, in TypeScript in the repository and in JavaScript in a build. */
export const programFile = (path: `${string}.ts`, base: string): URL =>
  new URL(base.endsWith('.ts') ? path : path.replace(/\.ts$/, '.js'), base)
