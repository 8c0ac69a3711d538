import { text } from 'node:stream/consumers'
import type { Command } from 'commander'
import type { Static, TSchema } from 'typebox'
import { Value } from 'typebox/value'
import { explainRefusal } from '../../db/server/start-refusal.ts'
import { validationError } from '../../platform/errors.ts'
import { companyNamed, type OperatorDeps } from '../operator.ts'
import { type Row, toErrorLine, toTable } from './command-output.ts'

/** Opens the dependencies when a command runs; must be closed afterwards. */
export type OpenOperator = () => Promise<OperatorDeps & { close(): Promise<void> }>

export type Options = Record<string, unknown>

export type Group = {
  add(usage: string, description: string): Command
  /** Runs a command and prints its result; an error exits with code 1. */
  run(command: Command, work: (deps: OperatorDeps) => Promise<Row | Row[]>, inTable?: (row: Row) => Row): Promise<void>
  runFor(
    command: Command,
    company: string,
    work: (deps: OperatorDeps, companyId: number) => Promise<Row | Row[]>,
    inTable?: (row: Row) => Row,
  ): Promise<void>
}

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
