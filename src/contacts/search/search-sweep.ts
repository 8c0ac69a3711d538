import type { Db } from '../../db/connect.ts'
import { searchText } from '../../people/contact-store.ts'
import { type Pause, passOverCompanies } from '../../queue/company-pass.ts'
import { readSearchRows, writeSearchTexts } from './search-sweep-store.ts'

const WINDOW = 5_000
const WRITTEN_AT_ONCE = 500
const ATTEMPTS = 3

export type SearchSweepDeps = {
  db: Db
  /** Must await `pause` between steps. */
  refoldProfiles(db: Db, companyId: number, pause: Pause): Promise<void>
}

/** Refolds search texts from earlier versions. */
export const sweepSearchTexts = ({ db, refoldProfiles }: SearchSweepDeps, signal: AbortSignal): Promise<void> =>
  passOverCompanies(db, 'search_passes', signal, async (companyId, pause) => {
    await refoldContacts(db, companyId, pause)
    await refoldProfiles(db, companyId, pause)
  })

async function refoldContacts(db: Db, companyId: number, pause: Pause): Promise<void> {
  for (let [after, attempt] = [0, 1]; ; ) {
    const { last, rows } = await readSearchRows(db, companyId, after, WINDOW)
    if (last === null) return
    const changed = rows
      .map((row) => ({ id: row.id, former: row.searchText, text: searchText(row) }))
      .filter(({ former, text }) => !haveSameLines(former, text))
    let written = 0
    for (let at = 0; at < changed.length; at += WRITTEN_AT_ONCE) {
      written += await writeSearchTexts(db, companyId, changed.slice(at, at + WRITTEN_AT_ONCE))
      await pause()
    }
    const isDone = written === changed.length || attempt === ATTEMPTS
    after = isDone ? last : after
    attempt = isDone ? 1 : attempt + 1
    await pause()
  }
}

/** A phone number added later is the last line, so line order is ignored. */
const haveSameLines = (one: string, other: string): boolean =>
  one === other || one.split('\n').toSorted().join('\n') === other.split('\n').toSorted().join('\n')
