import { type Db, type Pool, PostgresError } from '../db/connect.ts'
import { serviceUnavailable } from '../errors.ts'
import { lockContacts, type Named } from './people-store.ts'

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

/** Identities that decide who is who: an address and a phone's. */
export function identitiesOf({ emailKey, phoneIdentity }: Omit<Named, 'id'>): string[] {
  return [emailKey === null ? null : `mailto:${emailKey}`, phoneIdentity].filter((identity) => identity !== null)
}

/** What is locked, and the places of those among the asked who mean somebody: strangers are not among them. */
export type Locked = { readonly identities: ReadonlySet<string>; readonly met: readonly number[] }

/** Passes when everything about these contacts is locked; otherwise the work begins again with them locked too. */
export function checkLocked({ identities }: Locked, people: readonly Omit<Named, 'id'>[]): void {
  const missing = people.flatMap(identitiesOf).filter((identity) => !identities.has(identity))
  if (missing.length > 0) throw new NotLocked(missing)
}

/**
 * Runs the work in one transaction that holds the locks of everybody whom it may be about, sends and inbound
 * messages to the same people included. All that it waits for is locked at once and in one order, so nobody waits in a
 * circle. The work looks for itself, in statements of its own; when it meets somebody unlocked it begins again.
 */
export async function withPeopleLocked<T>(
  db: Pool,
  companyId: number,
  asked: readonly Named[],
  work: (tx: Db, locked: Locked) => Promise<T>,
): Promise<T> {
  let also: readonly string[] = []
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const outcome = await db
      .begin('isolation level read committed', async (tx) => {
        const { locked, met } = await lockContacts(tx, companyId, asked, also)
        return {
          value: await work(tx, { identities: new Set([...asked.flatMap(identitiesOf), ...also, ...locked]), met }),
        }
      })
      .catch(asReasonToRepeat)
    if ('value' in outcome) return outcome.value as T
    also = [...new Set([...also, ...outcome.missing])]
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
