import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { getCompileCacheDir } from 'node:module'
import { createServer } from 'node:net'
import { dirname } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { programFile } from '../platform/program-file.ts'
import type { Config } from '../platform/settings/config.ts'
import { codeOf, StartError } from '../platform/start-error.ts'

const PROGRAM = fileURLToPath(programFile('sandbox/main.ts'))
/** Where the program listens by default. */
const HOST = '127.0.0.1'

type Ports = Pick<Config, 'port' | 'host' | 'sandboxPort'>

export type SandboxProcess = {
  url: string
  /** The mail server that it plays. */
  smtpUrl: string
  /** Sets the address that gets its events, once that is known: from then on what is sent is also reported as delivered. */
  postTo(webhookUrl: string): Promise<void>
}

type LoadedSandbox = {
  /**
   * Lets it listen.
   *
   * @throws StartError when its port is in use; it also names that of the service if that is in use, too
   */
  listen(): Promise<SandboxProcess>
  stop(): Promise<void>
}

/**
 * Loads the sandbox, a program of its own, which plays the provider and the customers' phones. It loads while the database
 * starts, and listens later: after kill -9, the sandbox of the killed process has a moment to leave the port. It ends with us,
 * however we end: the pipe that it watches closes with this process.
 */
export function loadSandbox(ports: Ports): LoadedSandbox {
  const compileCache = getCompileCacheDir()
  const child = spawn(process.execPath, [PROGRAM], {
    stdio: ['pipe', 'pipe', 'pipe'],
    detached: true,
    env: {
      // The folder of this version of Node is in the one that the setting names.
      ...(compileCache !== undefined && { NODE_COMPILE_CACHE: dirname(compileCache) }),
      SANDBOX_PORT: String(ports.sandboxPort),
      SANDBOX_LISTEN_WITH_STDIN: '1',
      SANDBOX_STOP_WITH_STDIN: '1',
    },
  })
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  let errorOutput = ''
  child.stderr.on('data', (chunk) => {
    errorOutput = `${errorOutput}${chunk}`.slice(-2_000)
  })
  // One that has ended says why.
  child.stdin.on('error', () => {})
  return {
    listen: async () => {
      child.stdin.write('\n')
      const ready = await Promise.race([firstLine(child.stdout), ended])
      if (ready === undefined) throw await refusalOf(errorOutput.trim(), ports)
      const { url, smtpUrl }: { url: string; smtpUrl: string } = JSON.parse(ready)
      return {
        url,
        smtpUrl,
        postTo: async (webhookUrl) => {
          await put(`${url}/sandbox/webhook`, { url: webhookUrl })
          await put(`${url}/sandbox/behaviour`, { autoStatus: true })
        },
      }
    },
    stop: async () => {
      child.stdin.end()
      child.kill('SIGTERM')
      await ended
    },
  }
}

async function refusalOf(errorOutput: string, { port, host, sandboxPort }: Ports): Promise<StartError> {
  if (!(await isPortTaken(sandboxPort, HOST)))
    return new StartError(`The sandbox did not start: ${errorOutput}. Set SANDBOX_PORT or SANDBOX=off`)
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

/** Whether another program listens on a port of this machine; 0, which means any free port, never is. */
async function isPortTaken(port: number, host: string): Promise<boolean> {
  const server = createServer()
  try {
    await once(server.listen(port, host), 'listening')
    return false
  } catch (error) {
    return codeOf(error) === 'EADDRINUSE'
  } finally {
    server.close()
  }
}
