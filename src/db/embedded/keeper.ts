import { type ChildProcess, type StdioOptions, spawn } from 'node:child_process'
import type { Account } from './account.ts'

/**
 * Runs a program for exactly as long as the pipe on its own standard input stays open: when we close it, or die in
 * whatever way, the program gets SIGINT (PostgreSQL's fast shutdown). It has a session of its own, so that Ctrl-C
 * in a terminal, which goes to a whole process group, reaches us alone and the database outlives our last request.
 * The program sees none of our environment: PGPORT, PGDATA and locales of the user's would change what it does.
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

/** Starts `program` under a keeper; the keeper's exit code is the program's. Close its stdin to stop it. */
export function spawnKept(account: Account, program: string, args: string[], output: StdioOptions): ChildProcess {
  const [command = 'sh', ...rest] = [...account.command, 'sh', '-c', KEEPER, 'parley-keeper', program, ...args]
  const stdio = Array.isArray(output) ? ['pipe' as const, ...output] : output
  const keeper = spawn(command, rest, { stdio, detached: true, cwd: '/', ...account.identity })
  // A program that ends by itself breaks the pipe: its exit code says enough.
  keeper.stdin?.on('error', () => {})
  return keeper
}
