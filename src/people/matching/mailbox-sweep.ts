import type { Db, Pool } from '../../db/connect.ts'
import { emailKey } from '../../platform/text/email-address.ts'
import { type Pause, passOverCompanies } from '../../queue/company-pass.ts'
import { rekeyMailbox } from './mailbox.ts'

const WINDOW = 20_000

type MailboxSweepDeps = {
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

/** Non-ASCII keys in a row window; `last` is null at the end. */
type KeyWindow = { readonly last: number | null; readonly keys: readonly string[] }

async function readContactKeys(db: Db, companyId: number, after: number, limit: number): Promise<KeyWindow> {
  const [row] = await db<KeyWindow[]>`
    select max(id) as last, coalesce(array_agg(distinct email_key) filter (where email_key ~ '[^\\x01-\\x7f]'), '{}') as keys
    from (
      select id, email_key
      from contacts
      where company_id = ${companyId} and id > ${after}
      order by id
      limit ${limit}
    ) as part
  `
  return row ?? { last: null, keys: [] }
}

async function readConsentKeys(db: Db, companyId: number, after: number, limit: number): Promise<KeyWindow> {
  const [row] = await db<KeyWindow[]>`
    select
      max(id) as last,
      coalesce(
        array_agg(distinct substr(identity, 8)) filter (where identity like 'mailto:%' and identity ~ '[^\\x01-\\x7f]'), '{}'
      ) as keys
    from (
      select id, identity
      from consents
      where company_id = ${companyId} and id > ${after}
      order by id
      limit ${limit}
    ) as part
  `
  return row ?? { last: null, keys: [] }
}
