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
const HOST = '127.0.0.1'

type Ports = Pick<Config, 'port' | 'host' | 'sandboxPort'>

export type SandboxProcess = {
  url: string
  smtpUrl: string
  /** Sets the webhook address; from then on, sent messages are also reported as delivered. */
  postTo(webhookUrl: string): Promise<void>
}

type LoadedSandbox = {
  /** @throws StartError when the port is in use; also reports the service port if that is in use too */
  listen(): Promise<SandboxProcess>
  stop(): Promise<void>
}

/**
 * Loads while the database starts; listens later, since an old sandbox needs a moment to free the port. Ends with this
 * process, through a shared pipe.
 */
export function loadSandbox(ports: Ports): LoadedSandbox {
  const compileCache = getCompileCacheDir()
  const child = spawn(process.execPath, [PROGRAM], {
    stdio: ['pipe', 'pipe', 'pipe'],
    detached: true,
    env: {
      // The setting's folder contains a subfolder for this Node version.
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
