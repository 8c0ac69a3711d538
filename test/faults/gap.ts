import { setTimeout as sleep } from 'node:timers/promises'

const EVERY_MS = 50
const ANSWER_TIMEOUT_MS = 10_000
/** A longer pause between two looks is one of the whole machine, not of the service. */
const STANDSTILL_MS = 2_000

/** In milliseconds: how long no address answered a read, and how much longer it was because the machine itself stood still. */
export type Gap = { ms: number; standstillMs: number }

/** The longest time in which no address answered a read with 200, until `act` has ended and one does. */
export async function longestGap(addresses: string[], token: string, act: Promise<unknown>): Promise<Gap> {
  const headers = { authorization: `Bearer ${token}` }
  let longest: Gap = { ms: 0, standstillMs: 0 }
  let present: Gap = { ms: 0, standstillMs: 0 }
  let isOver = false
  let isAnswered = false
  const watch = async () => {
    for (let lookedAtMs = performance.now(); !isAnswered; ) {
      await sleep(EVERY_MS)
      const elapsedMs = performance.now() - lookedAtMs
      lookedAtMs += elapsedMs
      const standstillMs = elapsedMs > STANDSTILL_MS ? elapsedMs : 0
      present = { ms: present.ms + elapsedMs - standstillMs, standstillMs: present.standstillMs + standstillMs }
      if (present.ms > longest.ms) longest = present
    }
  }
  const read = async (address: string) => {
    while (!isAnswered) {
      const isLast = isOver
      const signal = AbortSignal.timeout(ANSWER_TIMEOUT_MS)
      const status = await fetch(`${address}/public/v1/contacts?limit=1`, { headers, signal }).then(
        async (response) => {
          await response.arrayBuffer()
          return response.status
        },
        () => 0,
      )
      if (status === 200) {
        present = { ms: 0, standstillMs: 0 }
        isAnswered ||= isLast
      }
      await sleep(EVERY_MS)
    }
  }
  const reading = Promise.all([watch(), ...addresses.map(read)])
  await act.finally(() => {
    isOver = true
  })
  await reading
  return longest
}
