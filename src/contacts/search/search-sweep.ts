import { type Db, sql } from '../../db/connect.ts'
import { refoldTexts } from '../../db/row-walk.ts'
import { TEXT_MEMBERS, TEXT_NAMES, type Texts } from '../../people/contact-record.ts'
import { searchText } from '../../people/contact-store.ts'
import { type Pause, passOverCompanies } from '../../queue/company-pass.ts'

type SearchSweepDeps = {
  db: Db
  /** Must await `pause` between steps. */
  refoldProfiles(db: Db, companyId: number, pause: Pause): Promise<void>
}

/** Refolds search texts from earlier versions. */
export const sweepSearchTexts = ({ db, refoldProfiles }: SearchSweepDeps, signal: AbortSignal): Promise<void> =>
  passOverCompanies(db, 'search_passes', signal, async (companyId, pause) => {
    await refoldTexts<'searchText', SearchRow>(db, companyId, CONTACT_TEXTS, pause)
    await refoldProfiles(db, companyId, pause)
  })

type SearchRow = Partial<Texts> & { id: number; email: string | null; phone: string | null; searchText: string }

const CONTACT_TEXTS = {
  table: 'contacts',
  member: 'searchText',
  members: ['id', 'email', 'phone', 'searchText', ...TEXT_NAMES.filter((name) => TEXT_MEMBERS[name].isName)],
  where: sql`deleted_at is null and (search_text like '%X%' or email_key like '%xn--%')`,
  fold: (row: SearchRow) => {
    const text = searchText(row)
    return haveSameLines(row.searchText, text) ? row.searchText : text
  },
} as const

/** A phone number added later is the last line, so line order is ignored. */
const haveSameLines = (one: string, other: string): boolean =>
  one === other || one.split('\n').toSorted().join('\n') === other.split('\n').toSorted().join('\n')
