import type { Answer, Received } from '../answer.ts'
import type { ReceiverShelf } from './receiver.ts'

const ADDRESS = /^\/sandbox\/receivers\/([^/?]+)\/?(?:\?.*)?$/

export const isReceiverPath = (url: string): boolean => ADDRESS.test(url)

/** `/sandbox/receivers/:name`, any method: keeps the request and answers as that receiver was told to. */
export function answerReceiver(shelf: ReceiverShelf, { url, method, headers, body }: Received): Answer {
  const name = ADDRESS.exec(url)?.[1] ?? ''
  const { behaviour } = shelf.keep(name, { method, headers, body: body.toString() })
  const { statusCode, delayMs, hang, drip, reset } = behaviour
  const fate = hang ? 'hang' : reset ? 'reset' : drip ? 'drip' : undefined
  const answer = { status: statusCode, contentType: 'text/plain; charset=utf-8', body: behaviour.body, delayMs }
  return fate === undefined ? answer : { ...answer, fate }
}
