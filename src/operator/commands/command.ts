import type { Command } from 'commander'
import { explainRefusal } from '../../db/server/start-refusal.ts'
import { createLocalServer } from '../../http/server/local-server.ts'
import { AppError } from '../../platform/errors.ts'
import { companyIdNamed, type OperatorDeps } from '../operator.ts'
import { operatorRoutes } from '../operator-routes.ts'
import { readOptions } from './option.ts'

/** Opens the dependencies when a command runs; must be closed afterwards. */
export type OpenOperator = () => Promise<OperatorDeps & { close(): Promise<void> }>

/** Adds a group of commands; returns a function that adds a command to it. */
export type AddGroup = (
  name: string,
  about: string,
) => (usage: string, about: string, run: CommandWork, shown?: Shown) => Command

/** Without a result, the command prints `SUCCESS`. */
export type CommandWork = (deps: OperatorDeps, given: Given, io: Io) => Promise<Row | Row[] | undefined> | Promise<void>

/** Arguments and options by name. */
export type Given = Readonly<Record<string, unknown>>

export type Terminal = { stdin: NodeJS.ReadableStream; isTerminal: boolean }
export type Io = Terminal & { write(text: string): void }

type Cell = string | number | boolean | null | readonly string[]
export type Row = Record<string, Cell>

/** Changes each row before it is printed; `toTableRow` leaves JSON unchanged. */
type Shown = { toRow?: (row: Row) => Row; toTableRow?: (row: Row) => Row }

const SUCCESS: Row = { success: true }

/** Adds groups of commands to the program. An error of a command exits with code 1. */
export const commandGroups =
  (program: Command, open: OpenOperator, terminal: Terminal): AddGroup =>
  (name, about) => {
    const group = program.command(name).description(about)
    return (usage, about, run, shown = {}) => {
      const command = group.command(usage).description(about)
      const work = async () => {
        const deps = await open()
        try {
          const io = { ...terminal, write: (text: string) => command.configureOutput().writeErr?.(text) }
          return await run(deps, await readOptions(givenTo(command), terminal.stdin), io)
        } finally {
          await deps.close()
        }
      }
      return command.option('--json', 'print the answer as JSON, for machines').action(() =>
        work()
          .then((answer) => show(command, answer ?? SUCCESS, shown))
          .catch((error) => command.error(`error: ${toErrorText(error)}`, { exitCode: 1 })),
      )
    }
  }

function givenTo(command: Command): Given {
  const { json: _json, ...options } = command.opts()
  const named = command.registeredArguments.map((argument, index) => [argument.name(), command.args[index]])
  return { ...Object.fromEntries(named.filter(([, value]) => value !== undefined)), ...options }
}

function show(command: Command, answer: Row | Row[], { toRow = asIs, toTableRow = asIs }: Shown): void {
  const shown = Array.isArray(answer) ? answer.map(toRow) : toRow(answer)
  const written = command.opts().json ? `${JSON.stringify(shown, null, 2)}\n` : toTable(shown, toTableRow)
  command.configureOutput().writeOut?.(written)
}

const asIs = <Value>(value: Value): Value => value

/** Formats rows as an aligned table; a single record gets one line per member. */
function toTable(shown: Row | Row[], toTableRow: (row: Row) => Row): string {
  if (!Array.isArray(shown)) return align(Object.entries(shown).map(([name, value]) => [name, toCell(value)]))
  const rows = shown.map(toTableRow)
  if (rows[0] === undefined) return 'none\n'
  const names = Object.keys(rows[0])
  return align([names, ...rows.map((row) => names.map((name) => toCell(row[name] ?? null)))])
}

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

/** Formats an error as one line, with the invalid fields if there are several. */
function toErrorText(error: unknown): string {
  const explained = explainRefusal(error) ?? error
  const message = explained instanceof Error ? explained.message || explained.name : String(explained)
  const fields = explained instanceof AppError ? fieldsOf(explained) : []
  return [message, ...fields].join('; ').replaceAll(/[\s\p{Cc}]+/gu, ' ')
}

function fieldsOf({ body }: AppError): string[] {
  if ('message' in body || typeof body.error === 'string') return []
  const fields = body.error.details?.fields
  // A single fault is already in the error message.
  if (!Array.isArray(fields) || fields.length < 2) return []
  return fields.map((field) => `${field.path} ${field.message}`)
}

/**
 * Calls a route below /admin/v1 in this process. Arguments and options fill its path, such as `/companies/<company>`; the
 * others are its query (GET) or body.
 */
export const call =
  (
    method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE',
    path: string | ((given: Given) => string),
    toMembers: (given: Given, io: Io) => Given | Promise<Given> = asIs,
  ) =>
  async (deps: OperatorDeps, given: Given, io: Io): Promise<Row | Row[]> => {
    const members = new Map(Object.entries(await toMembers(given, io)))
    const filled = (typeof path === 'string' ? path : path(given)).replaceAll(/<(\w+)>/g, (_, name) => {
      members.delete(name)
      return encodeURIComponent(String(given[name]))
    })
    const url = `/admin/v1${filled}`
    const app = createLocalServer(toErrorText)
    await app.register(operatorRoutes(deps))
    const { statusCode, body, json } = await app.inject(
      method === 'GET'
        ? { method, url, query: Object.fromEntries([...members].map(([name, value]) => [name, String(value)])) }
        : { method, url, payload: Object.fromEntries(members) },
    )
    if (statusCode >= 400) throw new Error(body)
    return json<Row | Row[]>()
  }

/** Runs `work` with the id of the given company; throws 404. */
export const inCompany =
  (work: (deps: OperatorDeps, companyId: number, given: Given, io: Io) => Promise<Row> | Promise<void>): CommandWork =>
  async (deps, given, io) =>
    (await work(deps, await companyIdNamed(deps.db, String(given.company)), given, io)) ?? SUCCESS
