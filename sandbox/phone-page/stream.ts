import type { Answer } from '../answer.ts'
import { jsonAnswer } from '../answer.ts'
import type { ControlDeps } from '../control/control-deps.ts'
import { type Happening, MOST_SUBSCRIBERS } from '../world/feed.ts'
import { linesOf } from './chat.ts'
import { checkedRequests } from './receiver-requests.ts'

/** Proxies may close a connection that is idle for 75 s. */
const COMMENT_MS = 25_000

/**
 * `GET /sandbox/stream?phone=&receiver=`: what the page of a phone or of a receiver shows, whole at the start and after
 * each change, as server-sent events `chat`, `requests` and `emails`.
 */
export function streamWorld({ world }: ControlDeps, query: URLSearchParams): Answer {
  if (world.feed.size() >= MOST_SUBSCRIBERS) return jsonAnswer({ error: { message: 'Too many streams are open' } }, 503)
  const phone = query.get('phone')
  const receiver = query.get('receiver')
  return {
    status: 200,
    contentType: 'text/event-stream',
    body: '',
    follow: (write) => {
      const send = (event: string, data: unknown) => write(`event: ${event}\ndata: ${JSON.stringify(data)}\n\n`)
      const show = (type: Happening['type'], name?: string) => {
        if (phone !== null && (type === 'written' || type === 'message' || type === 'status')) {
          send('chat', linesOf(world, phone))
        }
        if (receiver !== null && type === 'request' && name === receiver)
          send('requests', checkedRequests(world, receiver))
        if (type === 'email') send('emails', { count: world.mails.size })
      }
      for (const type of ['written', 'email'] as const) show(type)
      if (receiver !== null) show('request', receiver)
      const timer = setInterval(() => write(':\n\n'), COMMENT_MS)
      const end = world.feed.subscribe((happening) =>
        show(happening.type, happening.type === 'request' ? happening.receiver : undefined),
      )
      return () => {
        clearInterval(timer)
        end()
      }
    },
  }
}
