import { type Db, type Pool, sql } from '../../db/connect.ts'
import { walkRows } from '../../db/row-walk.ts'
import { emailKey } from '../../platform/text/email-address.ts'
import { type Pause, passOverCompanies } from '../../queue/company-pass.ts'
import { addressIn } from '../consent/consent.ts'
import { rekeyMailbox } from './mailbox.ts'

type MailboxSweepDeps = {
  db: Pool
  /** Must await `pause` between steps. */
  rekeyEmails(db: Db, companyId: number, pause: Pause): Promise<void>
}

/** Moves rows with earlier domain spellings to their mailbox keys. */
export const sweepMailboxes = ({ db, rekeyEmails }: MailboxSweepDeps, signal: AbortSignal): Promise<void> =>
  passOverCompanies(db, 'mailbox_passes', signal, async (companyId, pause) => {
    for (const keys of NON_ASCII_KEYS)
      await walkRows<KeyRow>(db, companyId, keys, pause, (rows) => rekey(db, companyId, rows))
    await rekeyEmails(db, companyId, pause)
  })

type KeyRow = { readonly emailKey?: string; readonly identity?: string }

const NON_ASCII_KEYS = [
  { table: 'contacts', members: ['emailKey'], where: sql`email_key ~ '[^\\x01-\\x7f]'`, window: 20_000 },
  {
    table: 'consents',
    members: ['identity'],
    where: sql`identity like 'mailto:%' and identity ~ '[^\\x01-\\x7f]'`,
    window: 20_000,
  },
] as const

async function rekey(db: Pool, companyId: number, rows: readonly KeyRow[]): Promise<void> {
  const keys = rows.flatMap(({ emailKey: key, identity = '' }) => key ?? addressIn(identity) ?? [])
  for (const former of new Set(keys)) {
    const key = emailKey(former)
    if (key !== former) await rekeyMailbox(db, companyId, { key, former: [former] })
  }
}
