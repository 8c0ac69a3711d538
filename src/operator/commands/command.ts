import { text } from 'node:stream/consumers'
import type { Command } from 'commander'
import type { Static, TSchema } from 'typebox'
import { Value } from 'typebox/value'
import { explainRefusal } from '../../db/server/start-refusal.ts'
import { AppError, validationError } from '../../platform/errors.ts'
import { companyNamed, type OperatorDeps } from '../operator.ts'

/** Opens the dependencies when a command runs; must be closed afterwards. */
export type OpenOperator = () => Promise<OperatorDeps & { close(): Promise<void> }>

type Cell = string | number | boolean | null | readonly string[]
export type Row = Record<string, Cell>
export type Options = Record<string, unknown>

const SUCCESS: Row = { success: true }

/** Without a result, the answer is `SUCCESS`. */
type Work<Given extends unknown[]> = (...given: Given) => Promise<Row | Row[]> | Promise<void>

export type Group = {
  add(usage: string, description: string): Command
  /** Runs a command and prints its result; an error exits with code 1. */
  run(command: Command, work: Work<[OperatorDeps]>, inTable?: (row: Row) => Row): Promise<void>
  runFor(
    command: Command,
    company: string,
    work: Work<[deps: OperatorDeps, companyId: number]>,
    inTable?: (row: Row) => Row,
  ): Promise<void>
}

export function commandGroup(program: Command, name: string, description: string, open: OpenOperator): Group {
  const group = program.command(name).description(description)
  const run: Group['run'] = async (command, work, inTable = (row) => row) => {
    try {
      show(command, (await opened(open, work)) ?? SUCCESS, inTable)
    } catch (error) {
      command.error(toErrorLine(explainRefusal(error) ?? error), { exitCode: 1 })
    }
  }
  return {
    add: (usage, about) =>
      group.command(usage).description(about).option('--json', 'print the answer as JSON, for machines'),
    run,
    runFor: (command, company, work, inTable) =>
      run(command, async (deps) => (await work(deps, (await companyNamed(deps.db, company)).id)) ?? SUCCESS, inTable),
  }
}

async function opened(open: OpenOperator, work: Work<[OperatorDeps]>) {
  const deps = await open()
  try {
    return await work(deps)
  } finally {
    await deps.close()
  }
}

function show(command: Command, shown: Row | Row[], inTable: (row: Row) => Row): void {
  const rows = Array.isArray(shown) ? shown.map(inTable) : shown
  const written = command.opts().json ? `${JSON.stringify(shown, null, 2)}\n` : toTable(rows)
  command.configureOutput().writeOut?.(written)
}

/** Formats rows as an aligned table; a single record gets one line per member. */
const toTable = (shown: Row | Row[]): string => (Array.isArray(shown) ? rowsOf(shown) : linesOf(shown))

/** Formats an error as one line, with the invalid fields if there are several. */
function toErrorLine(error: unknown): string {
  const message = error instanceof Error ? error.message || error.name : String(error)
  const fields = error instanceof AppError ? fieldsOf(error) : []
  return `error: ${[message, ...fields].join('; ').replaceAll(/[\s\p{Cc}]+/gu, ' ')}`
}

function rowsOf(rows: Row[]): string {
  if (rows[0] === undefined) return 'none\n'
  const names = Object.keys(rows[0])
  return align([names, ...rows.map((row) => names.map((name) => toCell(row[name] ?? null)))])
}

const linesOf = (row: Row): string => align(Object.entries(row).map(([name, value]) => [name, toCell(value)]))

function align(lines: string[][]): string {
  const widths = (lines[0] ?? []).map((_, column) => Math.max(...lines.map((line) => line[column]?.length ?? 0)))
  const toLine = (line: string[]) => line.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join('  ')
  return lines.map((line) => `${toLine(line).trimEnd()}\n`).join('')
}

/** Control characters could move the terminal's cursor. */
function toCell(value: Cell): string {
  const text = typeof value === 'object' ? (value?.join(',') ?? '') : String(value)
  return text === '' ? '-' : text.replaceAll(/\p{Cc}/gu, ' ')
}

function fieldsOf({ body }: AppError): string[] {
  if ('message' in body || typeof body.error === 'string') return []
  const fields = body.error.details?.fields
  // A single fault is already in the error message.
  if (!Array.isArray(fields) || fields.length < 2) return []
  return fields.map((field) => `${field.path} ${field.message}`)
}

/** Validates options against an API body schema, with the same error messages. */
export function parseOptions<Shape extends TSchema>(shape: Shape, options: unknown): Static<Shape> {
  if (Value.Check(shape, options)) return options
  throw validationError(
    Value.Errors(shape, options).map((fault) => ({
      path:
        fault.instancePath
          .slice(1)
          .replaceAll(/\/([0-9]+)/g, '[$1]')
          .replaceAll('/', '.') || 'options',
      message: fault.message,
    })),
  )
}

/** Returns NaN for other texts, so that the schema rejects them. */
export const toNumber = (text: string): number => (/^[0-9]{1,15}$/.test(text) ? Number(text) : Number.NaN)

export const toNumberOrNone = (text: string): number | 'none' => (text === 'none' ? text : toNumber(text))

export const toCountry = (text: string): string => (text === 'none' ? text : text.toUpperCase())

/** Passes other text through, so that the schema rejects it. */
export const toSwitch = (text: string): boolean | string => (text === 'on' ? true : text === 'off' ? false : text)

/** Replaces `none` by null, which clears an optional value: an option parser cannot return null. */
export function withNone(options: Options, names: readonly string[]): Options {
  const away = names.filter((name) => options[name] === 'none')
  return { ...options, ...Object.fromEntries(away.map((name) => [name, null])) }
}

/**
 * Reads options given as `-` from stdin, to keep secrets out of the shell history. A single one is the first line;
 * several need a line `access-token=…` each.
 * @throws {AppError} 422 for a line without a name, or with an unexpected one
 */
export async function withSecrets(
  options: Options,
  names: readonly string[],
  stdin: NodeJS.ReadableStream,
): Promise<Options> {
  const asked = names.filter((name) => options[name] === '-')
  if (asked.length === 0) return options
  const lines = (await text(stdin)).split('\n').map((line) => line.trim())
  if (asked.length === 1 && asked[0] !== undefined) return { ...options, [asked[0]]: lines[0] ?? '' }
  const secrets = lines.filter((line) => line !== '').map((line) => toNamedSecret(line, asked))
  return { ...options, ...Object.fromEntries(asked.map((name) => [name, ''])), ...Object.fromEntries(secrets) }
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

const MAX_PASSPHRASE = 1_000

export async function readPassphrase(stdin: NodeJS.ReadableStream): Promise<string> {
  const [line = ''] = (await text(stdin)).split('\n')
  return line.trim().slice(0, MAX_PASSPHRASE)
}
