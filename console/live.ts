import { API_PREFIX, SCOPE } from './scope.ts'

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
const TYPES = ['ready', 'conversation', 'message', 'answering', 'delivery', 'import', 'contact', 'reset', 'bye']
const DOWN_AFTER_MS = 10_000
const REOPEN_MS = 5_000

/**
 * Follows the stream of the company. One tab of the browser holds it, because a browser opens six connections to a host
 * at most; it passes the events on to the other tabs, and another tab takes its place when it closes. Returns a function
 * that ends following.
 */
export function followLive(listeners: Listeners): () => void {
  const channel = new BroadcastChannel(NAME)
  const ending = new AbortController()
  const watch = watchState(listeners.onState)
  let ownState: LiveState | undefined
  const publish = (message: TabMessage) => {
    channel.postMessage(message)
    receive(message)
  }
  const receive = (message: TabMessage) => {
    if ('event' in message) listeners.onEvent(message.event)
    else if ('state' in message) watch.set(message.state)
    else if (ownState !== undefined) channel.postMessage({ state: ownState })
  }
  channel.onmessage = ({ data }: MessageEvent<TabMessage>) => receive(data)
  channel.postMessage({ ask: true })
  const hold = () =>
    holdStream(
      (event) => publish({ event }),
      (state) => {
        ownState = state
        publish({ state })
      },
      listeners.onRefused,
      ending.signal,
    )
  navigator.locks.request(NAME, { signal: ending.signal }, hold).catch(() => {})
  return () => {
    ending.abort()
    watch.stop()
    channel.close()
  }
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
          if (type === 'ready') onState('live')
          onEvent({ type, data: parse(data) })
        })
      }
      source.onerror = () => {
        onState('connecting')
        // The browser reconnects by itself unless the answer was an error.
        if (source?.readyState !== EventSource.CLOSED) return
        onRefused()
        clearTimeout(timer)
        timer = setTimeout(open, REOPEN_MS)
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
  return { set, stop: () => clearTimeout(timer) }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
