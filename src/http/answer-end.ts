import type { Socket } from 'node:net'
import type { FastifyReply, FastifyRequest } from 'fastify'

const pending = new WeakMap<Socket, Set<() => void>>()

/**
 * Calls back once when the answer has gone out or its connection is closed. A response that waits behind another on the
 * same connection (pipelining) has no `close` of its own when the connection is closed, so the socket is watched too.
 */
export function onAnswerEnd({ raw: { socket } }: FastifyRequest, reply: FastifyReply, callback: () => void): void {
  const callbacks = callbacksOf(socket)
  const end = () => {
    if (callbacks.delete(end)) callback()
  }
  callbacks.add(end)
  reply.raw.once('close', end)
}

/** One listener for each connection, whatever the number of its requests. */
function callbacksOf(socket: Socket): Set<() => void> {
  const known = pending.get(socket)
  if (known !== undefined) return known
  const callbacks = new Set<() => void>()
  pending.set(socket, callbacks)
  socket.once('close', () => {
    for (const end of callbacks) end()
  })
  return callbacks
}
