import { setTimeout as sleep } from 'node:timers/promises'

/** Twice as long as what is done with a piece of 32 KiB takes. */
const PAUSE_MS = 2

/** Bytes in pieces of at most `size`, each a view of them. */
export function* piecesOf(bytes: Uint8Array, size: number): Generator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size)
}

/** The same pieces, with a pause before each but the first, in which other work of this process goes on. */
export async function* pausedPiecesOf(bytes: Uint8Array, size: number): AsyncGenerator<Uint8Array> {
  let isFirst = true
  for (const piece of piecesOf(bytes, size)) {
    if (!isFirst) await sleep(PAUSE_MS)
    isFirst = false
    yield piece
  }
}
