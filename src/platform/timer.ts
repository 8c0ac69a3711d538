/**
 * A timer for work that many callers ask for: calls while it is set change nothing. `delayMs` absent: the work runs at
 * the end of this turn of the event loop.
 */
export function createTimer(work: () => void): (delayMs?: number) => void {
  let isSet = false
  const run = () => {
    isSet = false
    work()
  }
  return (delayMs) => {
    if (isSet) return
    isSet = true
    if (delayMs === undefined) setImmediate(run)
    else setTimeout(run, delayMs)
  }
}
