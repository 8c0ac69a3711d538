import type { Db, Pool } from '../../db/connect.ts'
import { emailKey } from '../../platform/text/email-address.ts'
import { type Pause, passOverCompanies } from '../../queue/passes/company-pass.ts'
import { rekeyMailbox } from './mailbox.ts'
import { readConsentKeys, readContactKeys } from './mailbox-sweep-store.ts'

const WINDOW = 20_000

export type MailboxSweepDeps = {
  db: Pool
  /** Must await `pause` between steps. */
  rekeyEmails(db: Db, companyId: number, pause: Pause): Promise<void>
}

/** Moves rows with earlier domain spellings to their mailbox keys. */
export const sweepMailboxes = ({ db, rekeyEmails }: MailboxSweepDeps, signal: AbortSignal): Promise<void> =>
  passOverCompanies(db, 'mailbox_passes', signal, async (companyId, pause) => {
    for (const read of [readContactKeys, readConsentKeys]) await sweepKeys(db, companyId, read, pause)
    await rekeyEmails(db, companyId, pause)
  })

async function sweepKeys(db: Pool, companyId: number, read: typeof readContactKeys, pause: Pause): Promise<void> {
  for (let after = 0; ; ) {
    const { last, keys } = await read(db, companyId, after, WINDOW)
    for (const former of keys) {
      const key = emailKey(former)
      if (key !== former) await rekeyMailbox(db, companyId, { key, former: [former] })
    }
    if (last === null) return
    after = last
    await pause()
  }
}
