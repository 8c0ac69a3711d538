import type { FastifyRequest } from 'fastify'
import type { RequireUnlocked } from '../../db/pool/fair-pool.ts'
import { AppError } from '../../platform/errors.ts'
import { consoleMark } from '../server/request-head.ts'
import type { ApiKeys } from './authenticate.ts'
import type { Sessions } from './console-session.ts'

declare module 'fastify' {
  interface FastifyInstance {
    /** Whether credential and company still allow the request, at most 3 s stale. Does not count as session use. */
    isStillAdmitted(request: FastifyRequest): Promise<boolean>
  }
}

type Deps = {
  keys: ApiKeys
  sessions?: Sessions | undefined
  requireUnlocked: RequireUnlocked
}

/** Builds a check for requests that have waited: keys and sessions may have ended, the company may be moving. */
export function createReadmission({
  keys,
  sessions,
  requireUnlocked,
}: Deps): (request: FastifyRequest) => Promise<boolean> {
  const isOpen = async (companyId: number): Promise<boolean> => {
    try {
      await requireUnlocked(companyId)
      return true
    } catch (error) {
      if (error instanceof AppError) return false
      throw error
    }
  }
  return async ({ raw, headers, session, caller }) => {
    if (!(await isOpen(caller.companyId))) return false
    if (consoleMark(raw) === undefined) return (await keys.findCaller(headers.authorization)) !== undefined
    if (sessions === undefined || session === null || !(await sessions.isLive(headers.cookie))) return false
    return session.company !== null || (await sessions.findCompany(caller.companyId)) !== undefined
  }
}
