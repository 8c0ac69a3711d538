import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import type { Config } from '../config.ts'
import { programFile } from '../program-file.ts'
import { StartError } from '../start-error.ts'
import { isPortTaken } from './port.ts'

const PROGRAM = fileURLToPath(programFile('sandbox/main.ts'))
/** Where the program listens unless it is told otherwise. */
const HOST = '127.0.0.1'

type Ports = Pick<Config, 'port' | 'host' | 'sandboxPort'>

export type SandboxProcess = {
  url: string
  /** The mail server that it plays. */
  smtpUrl: string
  /** Sets the address for its events, once it is known: from then on it also reports sends as delivered. */
  postTo(webhookUrl: string): Promise<void>
  stop(): Promise<void>
}

/**
 * Starts the sandbox, a program of its own, which plays the provider and the customers' phones. It ends with us, however
 * we end: the pipe that it watches closes with this process.
 *
 * @throws StartError when its port is in use; it also names that of the service if that is in use, too
 */
export async function startSandboxProcess(ports: Ports): Promise<SandboxProcess> {
  const child = spawn(process.execPath, [PROGRAM], {
    stdio: ['pipe', 'pipe', 'pipe'],
    detached: true,
    env: {
      SANDBOX_PORT: String(ports.sandboxPort),
      SANDBOX_STOP_WITH_STDIN: '1',
    },
  })
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  let complaint = ''
  child.stderr.on('data', (chunk) => {
    complaint = `${complaint}${chunk}`.slice(-2_000)
  })
  const ready = await Promise.race([firstLine(child.stdout), ended])
  if (ready === undefined) throw await refusalOf(complaint.trim(), ports)
  const { url, smtpUrl }: { url: string; smtpUrl: string } = JSON.parse(ready)
  return {
    url,
    smtpUrl,
    postTo: async (webhookUrl) => {
      await put(`${url}/sandbox/webhook`, { url: webhookUrl })
      await put(`${url}/sandbox/behaviour`, { autoStatus: true })
    },
    stop: async () => {
      child.stdin.end()
      child.kill('SIGTERM')
      await ended
    },
  }
}

async function refusalOf(complaint: string, { port, host, sandboxPort }: Ports): Promise<StartError> {
  if (!(await isPortTaken(sandboxPort, HOST)))
    return new StartError(`The sandbox did not start: ${complaint}. Set SANDBOX_PORT or SANDBOX=off`)
  return (await isPortTaken(port, host))
    ? new StartError(
        `Ports ${port} and ${sandboxPort} are in use: stop what listens there or set PORT and SANDBOX_PORT`,
      )
    : new StartError(`Port ${sandboxPort} is in use: stop what listens there or set SANDBOX_PORT or SANDBOX=off`)
}

const put = (url: string, body: object): Promise<Response> =>
  fetch(url, { method: 'PUT', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) })

const firstLine = (stream: NodeJS.ReadableStream): Promise<string> =>
  new Promise((resolve) => {
    const lines = createInterface({ input: stream })
    lines.once('line', resolve)
  })
