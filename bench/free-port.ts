import { randomInt } from 'node:crypto'
import { createServer } from 'node:net'

/** Below the range from which systems choose the ports of outgoing connections: these could take one before it is used. */
const [FIRST, END] = [10_000, 30_000]

/** A port of the loopback address on which nothing listens. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(FIRST, END)
    if (await canListen(port)) return port
  }
}

function canListen(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer()
    server.once('error', () => resolve(false))
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)))
  })
}
