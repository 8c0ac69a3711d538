import { setImmediate } from 'node:timers/promises'

/** Bytes in pieces of at most `size`, each a view of them. */
export function* piecesOf(bytes: Uint8Array, size: number): Generator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size)
}

/** The same pieces; other work of this process goes on between them. */
export async function* pausedPiecesOf(bytes: Uint8Array, size: number): AsyncGenerator<Uint8Array> {
  let isFirst = true
  for (const piece of piecesOf(bytes, size)) {
    if (!isFirst) await setImmediate()
    isFirst = false
    yield piece
  }
}
