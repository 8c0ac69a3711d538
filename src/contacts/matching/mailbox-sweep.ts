import { setTimeout as sleep } from 'node:timers/promises'
import type { Db, Pool } from '../../db/connect.ts'
import { emailKey } from '../../text/email-address.ts'
import { rekeyMailbox } from './mailbox.ts'
import {
  endPass,
  listCompanyIds,
  readConsentKeys,
  readContactKeys,
  startPass,
  touchPass,
} from './mailbox-sweep-store.ts'

/** Rows that one statement looks at, and the pause after it. */
const WINDOW = 20_000
const PAUSE_MS = 20

export type MailboxSweepDeps = {
  db: Pool
  /** Moves what mails and suppressions of a company have under other spellings, in steps between which `pause` is awaited. */
  rekeyEmails(db: Db, companyId: number, pause: () => Promise<void>): Promise<void>
}

/**
 * Moves rows stored under other spellings of a domain by earlier versions to their mailbox keys.
 * Runs beside these versions: a second pass a day later finds what they wrote meanwhile.
 */
export async function sweepMailboxes(deps: MailboxSweepDeps, signal: AbortSignal): Promise<void> {
  const pass = await startPass(deps.db)
  if (pass === undefined) return
  const pause = async () => {
    await sleep(PAUSE_MS, undefined, { signal })
  }
  try {
    for (const companyId of await listCompanyIds(deps.db)) {
      for (const read of [readContactKeys, readConsentKeys]) await sweepKeys(deps.db, companyId, { pass, read, pause })
      await deps.rekeyEmails(deps.db, companyId, pause)
    }
    await endPass(deps.db, pass)
  } catch (error) {
    // Another process continues the pass.
    if (!signal.aborted) throw error
  }
}

type Step = { pass: number; read: typeof readContactKeys; pause: () => Promise<void> }

async function sweepKeys(db: Pool, companyId: number, { pass, read, pause }: Step): Promise<void> {
  for (let after = 0; ; ) {
    const { last, keys } = await read(db, companyId, after, WINDOW)
    for (const former of keys) {
      const key = emailKey(former)
      if (key !== former) await rekeyMailbox(db, companyId, { key, former: [former] })
    }
    if (last === null) return
    after = last
    await touchPass(db, pass)
    await pause()
  }
}
