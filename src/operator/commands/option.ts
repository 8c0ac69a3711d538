import { text } from 'node:stream/consumers'
import { validationError } from '../../platform/errors.ts'

/** Stand-ins, since an option parser can return neither null nor a promise. */
const NONE = Symbol('none')
const FROM_STDIN = Symbol('-')

/** Returns other text as it is, so that the route rejects it. */
export const toNumber = (text: string): number | string => (/^[0-9]{1,15}$/.test(text) ? Number(text) : text)

/** Returns other text as it is, so that the route rejects it. */
export const toSwitch = (text: string): boolean | string => (text === 'on' ? true : text === 'off' ? false : text)

export const toSecret = (text: string): unknown => (text === '-' ? FROM_STDIN : text)

/** Parses `none` as null, which clears an optional value. */
export const orNone =
  (parse: (text: string) => unknown = (text) => text) =>
  (text: string): unknown =>
    text === 'none' ? NONE : parse(text)

export const toNamesOrNone = (text: string, names: unknown): unknown =>
  text === 'none' ? NONE : [...(Array.isArray(names) ? names : []), text]

type Options = Record<string, unknown>

/**
 * Reads secrets given as `-` from stdin, to keep them out of the shell history. A single one is the first line; several
 * need a line `access-token=…` each.
 * @throws {AppError} 422 for a line without a name, or with an unexpected one
 */
export async function readOptions(options: Options, stdin: NodeJS.ReadableStream): Promise<Options> {
  const values = Object.entries(options).map(([name, value]) => [name, value === NONE ? null : value] as const)
  const asked = values.filter(([, value]) => value === FROM_STDIN).map(([name]) => name)
  return { ...Object.fromEntries(values), ...(asked.length > 0 && (await readSecrets(asked, stdin))) }
}

async function readSecrets(asked: readonly string[], stdin: NodeJS.ReadableStream): Promise<Options> {
  const lines = (await text(stdin)).split('\n').map((line) => line.trim())
  if (asked.length === 1) return { [String(asked[0])]: lines[0] ?? '' }
  const secrets = lines.filter((line) => line !== '').map((line) => toNamedSecret(line, asked))
  return { ...Object.fromEntries(asked.map((name) => [name, ''])), ...Object.fromEntries(secrets) }
}

function toNamedSecret(line: string, asked: readonly string[]): [name: string, secret: string] {
  const [, flag, secret = ''] = /^([a-z-]+)=(.*)$/.exec(line) ?? []
  const name = asked.find((one) => toFlag(one) === flag)
  if (name !== undefined) return [name, secret]
  const expected = asked.map((one) => `${toFlag(one)}=…`).join(' and ')
  throw validationError([
    { path: 'standard input', message: `must name its ${asked.length} secrets, in the lines ${expected}` },
  ])
}

const toFlag = (name: string): string => name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)
