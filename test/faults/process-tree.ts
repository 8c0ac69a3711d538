import { readdirSync, readFileSync } from 'node:fs'

/** Sends a signal to a process, which may have ended in between. */
export function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name)
  } catch {
    // It has ended.
  }
}

export const childrenOf = (main: number): number[] =>
  readdirSync('/proc')
    .filter((name) => /^[0-9]+$/.test(name) && parentOf(name) === main)
    .map(Number)

function parentOf(pid: string): number {
  try {
    return Number(/^PPid:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1])
  } catch {
    return 0
  }
}
