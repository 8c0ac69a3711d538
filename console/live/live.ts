import { API_PREFIX, SCOPE } from '../scope.ts'
import { beginReads, hasReadAnything } from './first-reads.ts'

/** An event of the stream (`GET /public/v1/events`). */
export type LiveEvent = { type: string; data: unknown }
/** `down`: no stream for 10 s. */
export type LiveState = 'connecting' | 'live' | 'down'

type TabMessage = { event: LiveEvent } | { state: LiveState } | { ask: true }
type Listeners = {
  onEvent: (event: LiveEvent) => void
  onState: (state: LiveState) => void
  /** The server refused the stream: the session may have ended. */
  onRefused: () => void
}

const NAME = `parley.live.${SCOPE}`
const TYPES = [
  'ready',
  'conversation',
  'message',
  'answering',
  'delivery',
  'import',
  'contact',
  'scheduled',
  'reset',
  'bye',
]
const DOWN_AFTER_MS = 10_000
const REOPEN_MS = 5_000

type Live = { follow: (listeners: Listeners) => void; end: () => void }

/** The stream that was opened with the page, until it is followed or refused. */
let opened: Live | undefined

/** Opens the stream before the session is known, so that the first reads need not wait for one after the other. */
export function openLiveEarly(): void {
  opened = openLive()
}

/**
 * Follows the stream of the company. One tab of the browser holds it, because a browser opens six connections to a host
 * at most; it passes the events on to the other tabs, and another tab takes its place when it closes. Returns a function
 * that ends following.
 */
export function followLive(listeners: Listeners): () => void {
  const { follow, end } = opened ?? openLive()
  opened = undefined
  follow(listeners)
  return end
}

function openLive(): Live {
  const channel = new BroadcastChannel(NAME)
  const ending = new AbortController()
  // Events before the first read are of no use, and nothing is read before it is followed.
  let listeners: Listeners | undefined
  let ownState: LiveState | undefined
  const watch = watchState((state) => listeners?.onState(state))
  const publish = (message: TabMessage) => {
    channel.postMessage(message)
    receive(message)
  }
  const receive = (message: TabMessage) => {
    if ('event' in message) take(message.event)
    else if ('state' in message) {
      if (message.state === 'live') beginReads()
      watch.set(message.state)
    } else if (ownState !== undefined) channel.postMessage({ state: ownState })
  }
  const take = (event: LiveEvent) => {
    if (event.type !== 'ready' || hasReadAnything()) listeners?.onEvent(event)
  }
  channel.onmessage = ({ data }: MessageEvent<TabMessage>) => receive(data)
  channel.postMessage({ ask: true })
  const end = () => {
    ending.abort()
    watch.stop()
    channel.close()
  }
  const refuse = () => {
    if (listeners !== undefined) {
      beginReads()
      listeners.onRefused()
      return
    }
    // No session, or an operator without a company: a stream is opened again when one is to be followed.
    opened = undefined
    end()
  }
  const hold = () =>
    holdStream(
      (event) => publish({ event }),
      (state) => {
        ownState = state
        publish({ state })
      },
      refuse,
      ending.signal,
    )
  navigator.locks.request(NAME, { signal: ending.signal }, hold).catch(() => {})
  const follow = (followers: Listeners) => {
    listeners = followers
    followers.onState(watch.state())
  }
  return { follow, end }
}

/** Keeps a stream open until the signal. */
function holdStream(
  onEvent: (event: LiveEvent) => void,
  onState: (state: LiveState) => void,
  onRefused: () => void,
  signal: AbortSignal,
): Promise<void> {
  return new Promise((resolve) => {
    let source: EventSource | undefined
    let timer: ReturnType<typeof setTimeout> | undefined
    const open = () => {
      onState('connecting')
      source = new EventSource(`${API_PREFIX}/public/v1/events`)
      for (const type of TYPES) {
        source.addEventListener(type, ({ data }) => {
          onEvent({ type, data: parse(data) })
          if (type === 'ready') onState('live')
        })
      }
      source.onerror = () => {
        onState('connecting')
        // The browser reconnects by itself unless the answer was an error.
        if (source?.readyState !== EventSource.CLOSED) return
        onRefused()
        clearTimeout(timer)
        if (!signal.aborted) timer = setTimeout(open, REOPEN_MS)
      }
    }
    open()
    signal.addEventListener('abort', () => {
      clearTimeout(timer)
      source?.close()
      resolve()
    })
  })
}

/** Says `down` when the stream has been away for 10 s. */
function watchState(onState: (state: LiveState) => void) {
  let state: LiveState = 'connecting'
  let timer: ReturnType<typeof setTimeout> | undefined
  const set = (next: LiveState) => {
    if (next === 'live') {
      clearTimeout(timer)
      timer = undefined
    } else timer ??= setTimeout(() => change('down'), DOWN_AFTER_MS)
    if (next !== 'connecting' || state !== 'down') change(next)
  }
  const change = (next: LiveState) => {
    state = next
    onState(next)
  }
  set('connecting')
  return { set, state: () => state, stop: () => clearTimeout(timer) }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
