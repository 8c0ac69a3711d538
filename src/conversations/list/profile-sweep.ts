import type { Db } from '../../db/connect.ts'
import { indexedText } from '../../platform/text/search-text.ts'
import { readProfileRows, writeProfileTexts } from './profile-search-store.ts'

const WINDOW = 5_000
const WRITTEN_AT_ONCE = 500

/** Refolds a company's profile names; skips locked conversations, whose inbound message folds the name. */
export async function refoldProfiles(db: Db, companyId: number, pause: () => Promise<void>): Promise<void> {
  for (let after = 0; ; ) {
    const { last, rows } = await readProfileRows(db, companyId, after, WINDOW)
    if (last === null) return
    const changed = rows
      .map(({ id, profileName, profileSearch }) => ({
        id,
        name: profileName,
        former: profileSearch,
        text: indexedText(profileName),
      }))
      .filter(({ former, text }) => former !== text)
    for (let at = 0; at < changed.length; at += WRITTEN_AT_ONCE) {
      await writeProfileTexts(db, companyId, changed.slice(at, at + WRITTEN_AT_ONCE))
      await pause()
    }
    after = last
    await pause()
  }
}
