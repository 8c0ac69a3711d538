import { readFileSync } from 'node:fs'
import { ROOT } from './program-file.ts'

/** The version of this Parley, as package.json names it. */
export const VERSION: string = JSON.parse(readFileSync(new URL('package.json', ROOT), 'utf8')).version
