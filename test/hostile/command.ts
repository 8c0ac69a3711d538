import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { RUN_VARIABLE } from '../run/clean-run.ts'
import type { World } from './world.ts'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
/** Ends a command that hangs. */
const DEADLINE_MS = 120_000

/** Runs `bin/parley` beside the service, on its data. */
export async function runCommand(
  { stage, root = ROOT }: Pick<World, 'stage' | 'root'>,
  args: readonly string[],
  input = '',
): Promise<{ code: number | null; output: string }> {
  const child = spawn(join(root, 'bin/parley'), args, {
    env: {
      PATH: process.env.PATH ?? '',
      [RUN_VARIABLE]: process.env[RUN_VARIABLE] ?? '',
      DATA_DIR: join(stage.folder, 'data'),
      ADMIN_TOKEN: stage.adminToken,
    },
    stdio: ['pipe', 'pipe', 'pipe'],
    timeout: DEADLINE_MS,
  })
  child.stdin.on('error', () => {
    // A command that was refused does not read its input.
  })
  child.stdin.end(input)
  const [output, errors, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')])
  return { code, output: `${output}${errors}` }
}
