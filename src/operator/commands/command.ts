import { text } from 'node:stream/consumers'
import type { Command } from 'commander'
import type { Static, TSchema } from 'typebox'
import { Value } from 'typebox/value'
import { explainRefusal } from '../../db/server/start-refusal.ts'
import { validationError } from '../../platform/errors.ts'
import { companyNamed, type OperatorDeps } from '../operator.ts'
import { type Row, toErrorLine, toTable } from './command-output.ts'

/** Opens what the verbs work with; called when a command runs, closed when it ends. */
export type OpenOperator = () => Promise<OperatorDeps & { close(): Promise<void> }>

/** The arguments and options of a command, by the names of the API's members. */
export type Options = Record<string, unknown>

export type Group = {
  /** Adds a command, with `--json`. */
  add(usage: string, description: string): Command
  /** Runs a command and prints its result; an error ends the program with exit code 1. */
  run(
    command: Command,
    work: (deps: OperatorDeps) => Promise<Row | Row[]>,
    /** The columns of a table of rows. */
    inTable?: (row: Row) => Row,
  ): Promise<void>
  /** The same for the company that an argument names. */
  runFor(
    command: Command,
    company: string,
    work: (deps: OperatorDeps, companyId: number) => Promise<Row | Row[]>,
    inTable?: (row: Row) => Row,
  ): Promise<void>
}

/** A group of commands, such as `parley company …`. */
export function commandGroup(program: Command, name: string, description: string, open: OpenOperator): Group {
  const group = program.command(name).description(description)
  const run: Group['run'] = async (command, work, inTable = (row) => row) => {
    try {
      show(command, await opened(open, work), inTable)
    } catch (error) {
      command.error(toErrorLine(explainRefusal(error) ?? error), { exitCode: 1 })
    }
  }
  return {
    add: (usage, about) =>
      group.command(usage).description(about).option('--json', 'print the answer as JSON, for machines'),
    run,
    runFor: (command, company, work, inTable) =>
      run(command, async (deps) => work(deps, (await companyNamed(deps.db, company)).id), inTable),
  }
}

async function opened<Result>(open: OpenOperator, work: (deps: OperatorDeps) => Promise<Result>): Promise<Result> {
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

/** Options as the API's body of that shape: what the shape does not allow is refused with the same message. */
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

/** The number of an option; NaN for other texts, which the shape refuses. */
export const toNumber = (text: string): number => (/^[0-9]{1,15}$/.test(text) ? Number(text) : Number.NaN)

/** The same, where `none` may stand for no number. */
export const toNumberOrNone = (text: string): number | 'none' => (text === 'none' ? text : toNumber(text))

/** Reads the ISO code of a country in any case, or `none`. */
export const toCountry = (text: string): string => (text === 'none' ? text : text.toUpperCase())

/** `on` and `off`; other text stays, and is refused like a value of the wrong type. */
export const toSwitch = (text: string): boolean | string => (text === 'on' ? true : text === 'off' ? false : text)

/**
 * Those options become null that are given as `none`, which takes an optional value away. Afterwards, because an
 * option's own parser cannot answer null.
 */
export function withNone(options: Options, names: readonly string[]): Options {
  const away = names.filter((name) => options[name] === 'none')
  return { ...options, ...Object.fromEntries(away.map((name) => [name, null])) }
}

/**
 * Options given as `-` are read from standard input, so that no secret stands in a shell's history. A single one is the first
 * line; of several, each has a line `access-token=…`.
 * @throws {AppError} 422 when a line has no name, or a name that was not asked for
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

/** The first line of standard input. */
export async function readPassphrase(stdin: NodeJS.ReadableStream): Promise<string> {
  const [line = ''] = (await text(stdin)).split('\n')
  return line.trim().slice(0, MAX_PASSPHRASE)
}
