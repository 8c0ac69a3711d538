import { useQuery } from '@tanstack/react-query'
import { Outlet } from '@tanstack/react-router'
import { lazy, Suspense, useState } from 'react'
import { Failure } from '../parts/feedback/failure.tsx'
import { sessionQuery } from '../session.ts'
import { SessionContext } from './session-context.ts'
import { Shell } from './shell.tsx'
import { signInCode } from './sign-in-code.ts'

/** A page that has a session does not load it. */
const SignIn = lazy(() => import('../sign-in/sign-in.tsx').then(({ SignIn: component }) => ({ default: component })))

/**
 * Signed in, the shell with the screen; else the sign-in page at the same address, so that signing in returns to it. A
 * link asks before it replaces a session.
 */
export function Root() {
  const [code, setCode] = useState(signInCode)
  const { data: session, error, refetch } = useQuery({ ...sessionQuery, enabled: code === null })
  const [wasSignedIn, setSignedIn] = useState(false)
  if (session && !wasSignedIn) setSignedIn(true)

  if (code !== null || session === null) {
    return (
      <Suspense>
        <SignIn code={code} hasEnded={wasSignedIn} onDone={() => setCode(null)} />
      </Suspense>
    )
  }
  if (session === undefined) return error ? <Failure error={error} retry={refetch} /> : null
  return (
    <SessionContext value={session}>
      <Shell>
        <Outlet />
      </Shell>
    </SessionContext>
  )
}
