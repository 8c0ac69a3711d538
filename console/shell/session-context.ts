import { createContext, useContext } from 'react'
import type { Session } from '../session.ts'

export const SessionContext = createContext<Session | undefined>(undefined)

/** The session of the user; only below the root, which shows its children to signed-in users alone. */
export function useSession(): Session {
  const session = useContext(SessionContext)
  if (session === undefined) throw new Error('There is no session')
  return session
}
