import type { Answer, Received } from '../answer.ts'
import type { World } from '../world/world.ts'

const ADDRESS = /^\/sandbox\/receivers\/([^/?]+)\/?(?:\?.*)?$/

export const isReceiverPath = (url: string): boolean => ADDRESS.test(url)

/** `/sandbox/receivers/:name`, any method: stores the request and answers as that receiver is set to. */
export function answerReceiver({ receivers, feed }: World, { url, method, headers, body }: Received): Answer {
  const name = ADDRESS.exec(url)?.[1] ?? ''
  const { behaviour } = receivers.keep(name, { method, headers, body: body.toString() })
  feed.publish({ type: 'request', receiver: name })
  const { statusCode, delayMs, hang, drip, reset } = behaviour
  const fate = hang ? 'hang' : reset ? 'reset' : drip ? 'drip' : undefined
  const answer = { status: statusCode, contentType: 'text/plain; charset=utf-8', body: behaviour.body, delayMs }
  return fate === undefined ? answer : { ...answer, fate }
}
