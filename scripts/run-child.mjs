import { spawn } from 'node:child_process'

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP']

/**
 * Runs a program to its end and returns its exit code. A signal to this process goes to the program, and this process ends when
 * the program has: no program of the set-up outlives it, unless it is killed.
 */
export function runChild(program, args, options) {
  const child = spawn(program, args, { stdio: 'inherit', ...options })
  let received
  const forward = (name) => {
    received = name
    child.kill(name)
  }
  for (const name of SIGNALS) process.on(name, forward)
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code) => {
      for (const name of SIGNALS) process.off(name, forward)
      if (received !== undefined) process.kill(process.pid, received)
      else resolve(code ?? 1)
    })
  })
}
