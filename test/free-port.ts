import { createServer } from 'node:net'

/** Below the range from which systems choose the ports of outgoing connections: these could take one before it is used. */
const [FIRST, COUNT] = [10_000, 20_000]
/** Of one process, so that no other process on the machine chooses a port before it is used. */
const OWN = 50
const own = FIRST + ((process.pid * OWN) % COUNT)
let chosen = 0

/** A port of the loopback address on which nothing listens, and which this process has not chosen for a while. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = own + (chosen % OWN)
    chosen += 1
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
