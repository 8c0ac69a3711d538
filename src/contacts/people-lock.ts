import { type Db, type Pool, PostgresError } from '../db/connect.ts'
import { serviceUnavailable } from '../errors.ts'
import { lockContacts } from './contact-store.ts'

const ATTEMPTS = 10

/** PostgreSQL's words for: two transactions were in each other's way, one of them has to begin again. */
const SERIALIZATION_FAILURE = '40001'
const DEADLOCK_DETECTED = '40P01'

/** Thrown inside `withPeopleLocked` when somebody turns out to be meant whose identities are not locked yet. */
class NotLocked extends Error {
  readonly identities: readonly string[]
  constructor(identities: readonly string[]) {
    super('Somebody else is meant than when the locks were taken')
    this.identities = identities
  }
}

export type Asked = { readonly identities: readonly string[]; readonly ids: readonly number[] }

/** Identities of a contact that decide who is who: its address and its phone. */
export function identitiesOf(person: { emailKey: string | null; phoneIdentity: string | null }): string[] {
  return [person.emailKey === null ? null : `mailto:${person.emailKey}`, person.phoneIdentity].filter(
    (identity) => identity !== null,
  )
}

/** Passes when everything about these contacts is locked; otherwise the work begins again with them locked too. */
export function checkLocked(
  locked: ReadonlySet<string>,
  people: readonly { emailKey: string | null; phoneIdentity: string | null }[],
): void {
  const missing = people.flatMap(identitiesOf).filter((identity) => !locked.has(identity))
  if (missing.length > 0) throw new NotLocked(missing)
}

/**
 * Runs the work in one transaction that holds the locks of everybody whom it may be about, sends and inbound
 * messages to the same people included. All locks are taken at once and in one order, so nobody waits in a circle.
 * The work looks for itself, in statements of its own; when it meets somebody unlocked it begins again.
 */
export async function withPeopleLocked<T>(
  db: Pool,
  companyId: number,
  asked: Asked,
  work: (tx: Db, locked: ReadonlySet<string>) => Promise<T>,
): Promise<T> {
  let identities = asked.identities
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const outcome = await db
      .begin('isolation level read committed', async (tx) => {
        const locked = await lockContacts(tx, companyId, identities, asked.ids)
        return { value: await work(tx, locked) }
      })
      .catch(asReasonToRepeat)
    if ('value' in outcome) return outcome.value as T
    identities = [...new Set([...identities, ...outcome.missing])]
  }
  throw serviceUnavailable('These contacts are being changed by too many requests at once: try again')
}

function asReasonToRepeat(error: unknown): { missing: readonly string[] } {
  if (error instanceof NotLocked) return { missing: error.identities }
  const isInTheWay =
    error instanceof PostgresError && (error.code === SERIALIZATION_FAILURE || error.code === DEADLOCK_DETECTED)
  if (isInTheWay) return { missing: [] }
  throw error
}
