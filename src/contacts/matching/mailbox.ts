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
 * Moves what was stored under other spellings of some addresses to their keys. Until 2026 each spelling of a domain was an
 * address of its own; what is kept as a hash can be found only by someone who knows the address. Costs nothing for
 * addresses whose domain has one spelling. Returns the contacts that have a mailbox together: they are not merged.
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

/** Moves a mailbox to its key, and shows on its contacts what all its spellings said. */
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
    // Another contact took the key at this moment: the next look finds both.
    if (sqlState(error) === UNIQUE_VIOLATION) return rekeyMailbox(db, companyId, mailbox)
    throw error
  }
}

/**
 * Refuses a write that names a mailbox of two contacts, or one of them under its former spelling.
 * @throws {AppError} 409 `duplicate_resource`
 */
export function refuseTwins(twins: readonly Twins[]): void {
  const [twin] = twins
  if (twin !== undefined) throw duplicateResource(`The ${sharedMailbox(twin)}`)
}

/** Says which contacts have a mailbox together, and what to do. */
export const sharedMailbox = ({ contactId, otherId }: Pick<Twins, 'contactId' | 'otherId'>): string =>
  `contacts ${contactId} and ${otherId} have one mailbox under two spellings of its domain: change the email of one, or delete it`

/** Most pairs that are looked at for the doctor. */
const MAX_TWINS = 1_000

/** The contacts that still have one mailbox. */
export async function findTwins(db: Db): Promise<TwinRow[]> {
  const twins = await listTwins(db, MAX_TWINS)
  return twins.filter(({ key, otherKey }) => emailKey(key) === emailKey(otherKey))
}
