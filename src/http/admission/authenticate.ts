import { hash, timingSafeEqual } from 'node:crypto'
import type { Caller } from './caller.ts'

export type ApiKeys = {
  /** Returns the caller for an `Authorization` header; undefined if missing or wrong. Throws only database errors. */
  findCaller(authorization: string | undefined): Promise<Caller | undefined>
  isLiveOrigin(origin: string): Promise<boolean>
  drop(clientId: string): void
}

/** Compares in constant time, even for another length. Always false without a token. */
export function createTokenCheck(
  token: string | undefined,
  scheme: 'Bearer' | 'Basic' = 'Bearer',
): (authorization: string | undefined) => boolean {
  const pattern = new RegExp(`^${scheme} +(.+)$`, 'i')
  const expected = token === undefined ? undefined : hash('sha256', token, 'buffer')
  return (authorization) => {
    const actual = hash('sha256', pattern.exec(authorization ?? '')?.[1] ?? '', 'buffer')
    return timingSafeEqual(actual, expected ?? actual) && expected !== undefined
  }
}
