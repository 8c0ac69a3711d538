import { onTestFinished } from 'vitest'
import { eventually } from '../service.ts'

// biome-ignore lint/suspicious/noExplicitAny: what a test reads from an event is what it asserts
type LiveEvent = { event: string; data: any }

/** An open live stream and the events that it got; the end of the test closes it. `url` names the stream. */
export async function openStream(url: string, headers: Record<string, string>) {
  const stop = new AbortController()
  onTestFinished(() => stop.abort())
  const response = await fetch(url, { headers, signal: stop.signal })
  const events: LiveEvent[] = []
  let hasEnded = false
  const read = async () => {
    let rest = ''
    let last = ''
    for await (const chunk of response.body!.pipeThrough(new TextDecoderStream())) {
      const hasEnd = `${last}${chunk}`.includes('\n\n')
      last = chunk.slice(-1)
      rest += chunk
      // A long event comes in many chunks.
      if (!hasEnd) continue
      const parts = rest.split('\n\n')
      rest = parts.pop()!
      for (const part of parts) {
        const [, event, data] = /^event: (\w+)\ndata: (.*)$/.exec(part) ?? []
        if (event !== undefined) events.push({ event, data: JSON.parse(data!) })
      }
    }
  }
  void read()
    .catch(() => {})
    .then(() => {
      hasEnded = true
    })
  const next = (event: string, fits: (data: LiveEvent['data']) => boolean = () => true, timeoutMs = 10_000) =>
    eventually(async () => events.find((one) => one.event === event && fits(one.data))?.data, timeoutMs)
  const stream = { response, events, next, stop: () => stop.abort(), hasEnded: () => hasEnded }
  if (response.status === 200) await next('ready')
  return stream
}

/** The stream of a key at an address of the service. `query` limits its topics. */
export const openKeyStream = (origin: string, token: string, query = '') =>
  openStream(`${origin}/public/v1/events${query}`, { authorization: `Bearer ${token}` })
