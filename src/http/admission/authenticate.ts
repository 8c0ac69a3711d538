import { hash, timingSafeEqual } from 'node:crypto'
import type { Caller } from './caller.ts'

/** The API keys, as authentication needs them; src/companies reads them. */
export type ApiKeys = {
  /**
   * The caller named by the `Authorization` header; undefined if the header is missing or wrong. Throws only database
   * errors.
   */
  findCaller(authorization: string | undefined): Promise<Caller | undefined>
  /** Whether any live key lists this origin. */
  isLiveOrigin(origin: string): Promise<boolean>
  /** Forgets a key that was changed or revoked in this process, and the origins with it. */
  drop(clientId: string): void
}

/** Whether the header carries this token; never, when there is none. In constant time, also for another length. */
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
