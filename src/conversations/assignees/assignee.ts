import type { Db } from '../../db/connect.ts'
import { keepSignedIn } from './assignee-store.ts'

export const MAX_ASSIGNEE_CHARACTERS = 100

/** Keeps a session's name, so that it can be assigned after the session ends. */
export async function rememberSignIn(db: Db, companyId: number, sessionName: string): Promise<void> {
  const name = sessionName.trim()
  if (name !== '' && name.length <= MAX_ASSIGNEE_CHARACTERS) await keepSignedIn(db, companyId, name)
}
