import { once } from 'node:events'
import { createServer } from 'node:net'
import { codeOf } from '../platform/start-error.ts'

/** Whether another program listens on a port of this machine; 0, which means any free port, never is. */
export async function isPortTaken(port: number, host: string): Promise<boolean> {
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
