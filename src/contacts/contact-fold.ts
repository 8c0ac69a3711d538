import { setTimeout as sleep } from 'node:timers/promises'
import { monotonicMs } from '../clock.ts'
import type { Pool } from '../db/connect.ts'
import { foldContactChanges } from './contact-fold-store.ts'

/** Rest for each moment of work: whoever searches meanwhile finds everything all the same, and writers go first. */
const RESTS = 3

/** Brings the count and the search index up to date, without haste. */
export async function foldContacts(db: Pool, isOver: () => boolean = () => false): Promise<void> {
  for (;;) {
    const startedAtMs = monotonicMs()
    const isMore = await foldContactChanges(db)
    if (!isMore || isOver()) return
    await sleep(RESTS * (monotonicMs() - startedAtMs))
  }
}
