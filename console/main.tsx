import './styles/base.css'
import { CSPProvider } from '@base-ui/react/csp-provider'
import { QueryClientProvider } from '@tanstack/react-query'
import { RouterProvider } from '@tanstack/react-router'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { whenSignedOut } from './client.ts'
import { openLiveEarly } from './live/live.ts'
import { queryClient } from './queries.ts'
import { router } from './routes.tsx'
import { sessionQuery, whenReplaced } from './session.ts'
import { applyTheme } from './shell/session-menu/theme.ts'
import { signInCode } from './shell/sign-in-code.ts'

applyTheme()
// A link may replace the session, and the stream with it.
if (signInCode === null) openLiveEarly()
whenReplaced(() => location.assign('/console/'))
whenSignedOut(() => queryClient.setQueryData(sessionQuery.queryKey, null))

const root = document.getElementById('root')
if (root === null) throw new Error('The page has no root')
createRoot(root).render(
  <StrictMode>
    <CSPProvider disableStyleElements>
      <QueryClientProvider client={queryClient}>
        <RouterProvider router={router} />
      </QueryClientProvider>
    </CSPProvider>
  </StrictMode>,
)
