import type { Db, Pool } from '../db/connect.ts'
import { StartError } from '../platform/start-error.ts'

/** Company ids of cell n: n x 1,000,000 + 1 to (n + 1) x 1,000,000. */
const COMPANIES_PER_CELL = 1_000_000

type Range = { first: number; last: number; isUsed: boolean; isOwner: boolean }

const UNASSIGNED_LAST = 9_223_372_036_854_775_807n

/**
 * Checks the database's cell; assigns one if the role owns the tables. An unbounded sequence that has issued an id means cell
 * 0.
 * @throws StartError if the database belongs to another cell
 */
export async function joinCell(db: Pool, cell: number): Promise<void> {
  if (isAssigned(await readRange(db))) return checkCell(await readRange(db), cell)
  await db.begin(async (tx) => {
    await tx`select pg_advisory_xact_lock(advisory_key('cell', ''))`
    const range = await readRange(tx)
    if (isAssigned(range) || range.isUsed || !range.isOwner) checkCell(range, cell)
    if (!isAssigned(range) && range.isOwner) await assign(tx, cell, range.isUsed)
  })
}

async function readRange(db: Db): Promise<Range> {
  const [row] = await db<[Range]>`
    select
      sequence.seqmin as first, sequence.seqmax as last, pg_sequence_last_value(sequence.seqrelid) is not null as is_used,
      pg_has_role(current_user, relation.relowner, 'usage') as is_owner
    from pg_sequence sequence
    join pg_class relation on relation.oid = sequence.seqrelid
    where sequence.seqrelid = pg_get_serial_sequence('companies', 'id')::regclass
  `
  return row
}

const isAssigned = ({ last }: Range): boolean => BigInt(last) < UNASSIGNED_LAST - 1_000_000n

function checkCell(range: Range, cell: number): void {
  const own = (range.first - 1) / COMPANIES_PER_CELL
  if (own !== cell) {
    throw new StartError(
      `The database belongs to cell ${own}, not to cell ${cell}: set CELL=${own}, or DATABASE_URL to the database of cell ${cell}`,
    )
  }
}

async function assign(tx: Db, cell: number, isUsed: boolean): Promise<void> {
  const first = cell * COMPANIES_PER_CELL + 1
  const last = (cell + 1) * COMPANIES_PER_CELL
  await tx.unsafe(
    `alter table companies alter column id
      set minvalue ${first} set maxvalue ${last} set start with ${first} ${isUsed ? '' : `restart with ${first}`}`,
  )
}
