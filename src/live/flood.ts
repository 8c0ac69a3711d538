const PER_SECOND = 1_000
/** Excess that starts a flood; also the maximum counted, so that a flood can end soon. */
const MAX_EXCESS = 500
const CALM_EXCESS = 100

/** Whether changes arrive faster than they can be sent. During a flood, resets cost less than records. */
export type Flood = {
  readonly isOn: boolean
  add(count: number): void
}

/** Creates a leaky bucket, drained by `PER_SECOND` with or without new changes. */
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
