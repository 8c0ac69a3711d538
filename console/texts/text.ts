import { en } from './en.ts'

/** The texts of the console. A second language is a second file of this shape, loaded when it is chosen. */
export const text: typeof en = en
