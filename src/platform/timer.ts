/** Calls while the timer is set change nothing. Without `delayMs`, runs after this event loop turn. */
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
