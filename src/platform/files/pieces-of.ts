import { setTimeout as sleep } from 'node:timers/promises'

/** Twice the time spent on a piece of 32 KiB. */
const PAUSE_MS = 2

export function* piecesOf(bytes: Uint8Array, size: number): Generator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size)
}

/** Yields the same pieces with pauses in between, so that other work can run. */
export async function* pausedPiecesOf(bytes: Uint8Array, size: number): AsyncGenerator<Uint8Array> {
  let isFirst = true
  for (const piece of piecesOf(bytes, size)) {
    if (!isFirst) await sleep(PAUSE_MS)
    isFirst = false
    yield piece
  }
}
