import type { Db } from '../../db/connect.ts'
import { keepSignedIn } from './assignee-store.ts'

export const MAX_ASSIGNEE_CHARACTERS = 100

/** Makes the name of a session known, so that conversations can be assigned to it when the session has ended, too. */
export async function rememberSignIn(db: Db, companyId: number, sessionName: string): Promise<void> {
  const name = sessionName.trim()
  if (name !== '' && name.length <= MAX_ASSIGNEE_CHARACTERS) await keepSignedIn(db, companyId, name)
}
