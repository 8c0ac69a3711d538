import { request as ask, createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { atFileEnd } from '../file-end.ts'

/** A way to the sandbox that can be told to leave requests without an answer. */
export async function startProviderGate(target: string) {
  const waiting = new Set<ServerResponse>()
  const gate = {
    isHanging: false,
    /** What it left without an answer, with `#` for ids. */
    unanswered: new Set<string>(),
    /** Answers again, and ends the calls that it left without an answer. */
    open: () => {
      gate.isHanging = false
      for (const response of waiting) response.destroy()
      waiting.clear()
    },
  }
  const server = createServer((request, response) => {
    const { method = '', url = '', headers } = request
    if (gate.isHanging) {
      waiting.add(response)
      return void gate.unanswered.add(
        `${method} ${url
          .split('?')[0]
          ?.replace(/\/v[0-9.]+/, '')
          .replace(/[0-9]+/g, '#')}`,
      )
    }
    const passed = ask(`${target}${url}`, { method, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers)
      answer.pipe(response)
    })
    passed.on('error', () => response.destroy())
    request.pipe(passed)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  atFileEnd(async () => {
    server.close()
    server.closeAllConnections()
  })
  const { port } = server.address() as AddressInfo
  return { gate, url: `http://127.0.0.1:${port}` }
}
