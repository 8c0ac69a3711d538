import { type ChildProcess, type StdioOptions, spawn } from 'node:child_process'
import type { Account } from './account.ts'

/**
 * When our pipe to its stdin closes, even because we die, PostgreSQL gets SIGINT (fast shutdown). Its own session keeps
 * Ctrl-C away. The environment is empty: PGPORT, PGDATA or a locale would change PostgreSQL's behaviour.
 */
const KEEPER = `
trap '' INT TERM HUP
exec 3<&0
env -i LC_ALL=C TZ=UTC "$@" 3<&- </dev/null &
child=$!
( read -r _ <&3; kill -INT "$child" ) >/dev/null 2>&1 &
watch=$!
wait "$child"
code=$?
kill -KILL "$watch" 2>/dev/null
wait "$watch" 2>/dev/null
exit "$code"
`

/** Starts `program` under a keeper with the same exit code. Close stdin to stop. */
export function spawnKept(account: Account, program: string, args: string[], output: StdioOptions): ChildProcess {
  const [command = 'sh', ...rest] = [...account.command, 'sh', '-c', KEEPER, 'parley-keeper', program, ...args]
  const stdio = Array.isArray(output) ? ['pipe' as const, ...output] : output
  const keeper = spawn(command, rest, { stdio, detached: true, cwd: '/', ...account.identity })
  // A program that ends by itself breaks the pipe; the exit code is enough.
  keeper.stdin?.on('error', () => {})
  return keeper
}
