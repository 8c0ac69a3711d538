import { setTimeout as sleep } from 'node:timers/promises'

const EVERY_MS = 50
const ANSWER_TIMEOUT_MS = 10_000

/** The longest time, in milliseconds, in which no address answered a read with 200, until `act` has ended and one does. */
export async function longestGap(addresses: string[], token: string, act: Promise<unknown>): Promise<number> {
  let answeredAtMs = performance.now()
  let longestMs = 0
  let isOver = false
  const read = async (address: string) => {
    for (let isLast = false; !isLast; ) {
      isLast = isOver
      const headers = { authorization: `Bearer ${token}` }
      const signal = AbortSignal.timeout(ANSWER_TIMEOUT_MS)
      const status = await fetch(`${address}/public/v1/contacts?limit=1`, { headers, signal }).then(
        async (response) => {
          await response.arrayBuffer()
          return response.status
        },
        () => 0,
      )
      if (status === 200) {
        longestMs = Math.max(longestMs, performance.now() - answeredAtMs)
        answeredAtMs = performance.now()
      }
      await sleep(EVERY_MS)
    }
  }
  const reading = Promise.all(addresses.map(read))
  await act.finally(() => {
    isOver = true
  })
  await reading
  return Math.max(longestMs, performance.now() - answeredAtMs)
}
