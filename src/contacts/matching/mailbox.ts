import type { Db, Pool } from '../../db/connect.ts'
import { sqlState } from '../../db/pool/failure.ts'
import { addressIdentity } from '../../people/consent/consent.ts'
import { refreshConsents } from '../../people/consent/shown-consent.ts'
import { duplicateResource } from '../../platform/errors.ts'
import { emailKey, storedKeys } from '../../platform/text/email-address.ts'
import {
  findFormerKeys,
  keepTwins,
  listTwins,
  type Mailbox,
  moveToKey,
  type TwinRow,
  type Twins,
} from './mailbox-store.ts'

const UNIQUE_VIOLATION = '23505'

/**
 * Moves rows with other domain spellings to their keys: until 2026, each spelling was an address itself, and hashed
 * rows can only be found by address. Returns contacts sharing a mailbox; these must be resolved by hand.
 */
export async function rekeyMailboxes(db: Pool, companyId: number, keys: readonly string[]): Promise<Twins[]> {
  const mailboxes = [...new Set(keys)].flatMap((key) => {
    const [own = key, ...former] = storedKeys(key)
    return former.length === 0 ? [] : [{ key: own, former }]
  })
  if (mailboxes.length === 0) return []
  const twins: Twins[] = []
  for (const mailbox of await findFormerKeys(db, companyId, mailboxes)) {
    twins.push(...(await rekeyMailbox(db, companyId, mailbox)))
  }
  return twins
}

export async function rekeyMailbox(db: Pool, companyId: number, mailbox: Mailbox): Promise<Twins[]> {
  try {
    return await db.begin(async (tx) => {
      const haveMoved = await moveToKey(tx, companyId, mailbox)
      const twins = await keepTwins(tx, companyId, mailbox)
      if (haveMoved || twins.length > 0) {
        await refreshConsents(tx, [{ companyId, identity: addressIdentity(mailbox.key) }])
      }
      return twins
    })
  } catch (error) {
    // Another contact just took the key; the retry finds both.
    if (sqlState(error) === UNIQUE_VIOLATION) return rekeyMailbox(db, companyId, mailbox)
    throw error
  }
}

/** Throws 409 `duplicate_resource` for a mailbox shared by two contacts. */
export function refuseTwins(twins: readonly Twins[]): void {
  const [twin] = twins
  if (twin !== undefined) throw duplicateResource(`The ${sharedMailbox(twin)}`)
}

export const sharedMailbox = ({ contactId, otherId }: Pick<Twins, 'contactId' | 'otherId'>): string =>
  `contacts ${contactId} and ${otherId} have one mailbox under two spellings of its domain: change the email of one, or delete it`

const MAX_TWINS = 1_000

export async function findTwins(db: Db): Promise<TwinRow[]> {
  const twins = await listTwins(db, MAX_TWINS)
  return twins.filter(({ key, otherKey }) => emailKey(key) === emailKey(otherKey))
}
