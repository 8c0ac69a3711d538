import { once } from 'node:events'
import { startSandbox } from './sandbox.ts'

const DEFAULT_PORT = 3001

const {
  SANDBOX_PORT,
  SANDBOX_SMTP_PORT,
  SANDBOX_HOST,
  SANDBOX_WEBHOOK_URL,
  SANDBOX_APP_SECRET,
  SANDBOX_LISTEN_WITH_STDIN,
  SANDBOX_STOP_WITH_STDIN,
} = process.env

// It is loaded before it may listen.
if (SANDBOX_LISTEN_WITH_STDIN === '1') {
  await once(process.stdin, 'readable')
  // The parent has ended without a line.
  if (process.stdin.read() === null) process.exit(0)
}

const sandbox = await startSandbox({
  port: readPort('SANDBOX_PORT', SANDBOX_PORT, DEFAULT_PORT),
  smtpPort: readPort('SANDBOX_SMTP_PORT', SANDBOX_SMTP_PORT, 0),
  host: SANDBOX_HOST || '127.0.0.1',
  webhookUrl: SANDBOX_WEBHOOK_URL || undefined,
  appSecret: SANDBOX_APP_SECRET || undefined,
}).catch(giveUp)

console.log(JSON.stringify({ url: sandbox.url, port: sandbox.port, smtpUrl: sandbox.smtpUrl }))

let stopping = false
process.on('SIGTERM', stop)
process.on('SIGINT', stop)
if (SANDBOX_STOP_WITH_STDIN === '1') {
  // The parent holds the other end: when it dies, however it dies, this reads the end.
  process.stdin.on('end', stop)
  process.stdin.on('error', stop)
  process.stdin.resume()
}

async function stop(): Promise<void> {
  if (stopping) return
  stopping = true
  await sandbox.stop()
  process.exit(0)
}

function readPort(name: string, text: string | undefined, fallback: number): number {
  if (text === undefined) return fallback
  const port = Number(text)
  if (text.trim() !== '' && Number.isInteger(port) && port >= 0 && port <= 65_535) return port
  return giveUp(`${name} must be a port or 0, not "${text}"`)
}

function giveUp(reason: unknown): never {
  console.error(`The sandbox cannot start: ${reason instanceof Error ? reason.message : String(reason)}`)
  process.exit(1)
}
