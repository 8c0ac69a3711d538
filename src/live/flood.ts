/** Changes of a company that are sent in a second, the most beyond them, and the rest of those at which sending begins again. */
const PER_SECOND = 1_000
const MAX_EXCESS = 500
const CALM_EXCESS = 100

/** Whether changes come faster than they are sent. While they do, resets cost less than records. */
export type Flood = {
  readonly isOn: boolean
  /** Counts changes; a flood ends when they have been slower for a while. */
  add(count: number): void
}

export function createFlood(): Flood {
  let excess = 0
  let isOn = false
  let atMs = performance.now()
  return {
    get isOn() {
      return isOn
    },
    add: (count) => {
      const nowMs = performance.now()
      excess = Math.max(0, excess - ((nowMs - atMs) / 1_000) * PER_SECOND) + count
      atMs = nowMs
      isOn = excess > (isOn ? CALM_EXCESS : MAX_EXCESS)
      excess = Math.min(excess, MAX_EXCESS)
    },
  }
}
