/** Changes of a company that are sent in a second. */
const PER_SECOND = 1_000
/** Changes beyond this rate with which a flood starts, and of which no more are counted. */
const MAX_EXCESS = 500
/** A flood ends when no more of them are left. */
const CALM_EXCESS = 100

/** Whether changes come faster than they are sent. While they do, resets cost less than records. */
export type Flood = {
  readonly isOn: boolean
  add(count: number): void
}

/** The excess shrinks by `PER_SECOND` a second, with or without new changes. */
export function createFlood(): Flood {
  let excess = 0
  let isOn = false
  let atMs = performance.now()
  const shrink = () => {
    const nowMs = performance.now()
    excess = Math.max(0, excess - ((nowMs - atMs) / 1_000) * PER_SECOND)
    atMs = nowMs
    if (excess <= CALM_EXCESS) isOn = false
  }
  return {
    get isOn() {
      shrink()
      return isOn
    },
    add: (count) => {
      shrink()
      isOn ||= excess + count > MAX_EXCESS
      excess = Math.min(excess + count, MAX_EXCESS)
    },
  }
}
