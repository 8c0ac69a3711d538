const END_OF_HEAD = Buffer.from('\r\n\r\n')
const NOTHING = Buffer.alloc(0)

type HeadCutter = {
  hold(chunk: Buffer): void
  holdsBytes(): boolean
  /** A head always ends its piece. */
  next(): Buffer
  /** Passes the next `bytes` through as a body, without searching for heads. */
  skipBody(bytes: number): void
}

export function createHeadCutter(): HeadCutter {
  let held: Buffer = NOTHING
  let bodyLeft = 0
  /** Last bytes of an unfinished head, whose end may span two chunks. */
  let tail: Buffer = NOTHING

  const take = (bytes: number): Buffer => {
    const piece = held.subarray(0, bytes)
    held = held.subarray(bytes)
    return piece
  }
  const takeHead = (): Buffer => {
    const end = endOfHead(tail, held)
    const piece = take(end ?? held.length)
    tail = end === undefined ? Buffer.concat([tail, piece.subarray(-3)]).subarray(-3) : NOTHING
    return piece
  }
  return {
    hold: (chunk) => {
      held = held.length === 0 ? chunk : joined(held, chunk)
    },
    holdsBytes: () => held.length > 0,
    next: () => {
      if (bodyLeft === 0) return takeHead()
      const piece = take(bodyLeft)
      bodyLeft -= piece.length
      return piece
    },
    skipBody: (bytes) => {
      bodyLeft = bytes
    },
  }
}

function endOfHead(tail: Buffer, held: Buffer): number | undefined {
  const spanning = tail.length === 0 ? -1 : Buffer.concat([tail, held.subarray(0, 3)]).indexOf(END_OF_HEAD)
  if (spanning >= 0) return spanning + END_OF_HEAD.length - tail.length
  const at = held.indexOf(END_OF_HEAD)
  return at < 0 ? undefined : at + END_OF_HEAD.length
}

/** Must not use Node's buffer pool: server.ts frees the memory of unreadable packets. */
function joined(one: Buffer, other: Buffer): Buffer {
  const both = Buffer.allocUnsafeSlow(one.length + other.length)
  one.copy(both)
  other.copy(both, one.length)
  return both
}
