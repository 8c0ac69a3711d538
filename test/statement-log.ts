import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Pool } from '../src/db/connect.ts'
import { startEmbedded } from '../src/db/embedded/start.ts'
import { atFileEnd } from './file-end.ts'
import { readyFolder } from './parley-process.ts'
import { eventually } from './service.ts'

type Line = { pid?: number; message?: string }

/** A statement of the log, with its session. */
type Logged = { pid: number; text: string }

/** Starts a server with a migrated database that logs each statement as it runs it. */
export async function startLoggedServer() {
  const folder = await readyFolder(atFileEnd)
  const server = await startEmbedded(folder, {
    fsync: 'off',
    max_connections: '100',
    logging_collector: 'on',
    log_destination: 'jsonlog',
    log_directory: folder,
    log_filename: 'statements',
    log_rotation_age: '0',
    log_rotation_size: '0',
    log_statement: 'all',
    log_parameter_max_length: '0',
  })
  atFileEnd(() => server.stop())
  const file = join(folder, 'statements.json')
  const read = (): Logged[] =>
    readFileSync(file, 'utf8')
      .split('\n')
      .filter((line) => line !== '')
      .map((line): Line => JSON.parse(line))
      .flatMap(({ pid = 0, message = '' }) => {
        const [, text] = /^(?:statement|execute [^:]*): (.*)$/s.exec(message) ?? []
        return text === undefined ? [] : [{ pid, text: withoutComments(text).toLowerCase() }]
      })
  /** The transactions so far. The server's collector writes behind them, in their order. */
  async function transactions(db: Pool): Promise<string[][]> {
    const mark = `select 'mark ${randomUUID()}'`
    await db.unsafe(mark)
    await eventually(async () => read().some(({ text }) => text === mark))
    return transactionsOf(read())
  }
  return { url: server.url, transactions }
}

const withoutComments = (text: string): string => text.replaceAll(/--.*$/gm, '').replaceAll(/\s+/g, ' ').trim()

/** The statements of each transaction that committed, in the order in which the server ran them. */
function transactionsOf(statements: readonly Logged[]): string[][] {
  const open = new Map<number, string[]>()
  const committed: string[][] = []
  for (const { pid, text } of statements) {
    if (/^begin\b/.test(text)) open.set(pid, [])
    else if (/^commit\b/.test(text)) {
      committed.push(open.get(pid) ?? [])
      open.delete(pid)
    } else if (/^rollback(?! to)\b/.test(text)) open.delete(pid)
    else open.get(pid)?.push(text)
  }
  return committed
}
