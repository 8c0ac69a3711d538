import { useNavigate } from '@tanstack/react-router'
import { lazy, type ReactNode, Suspense, useState, useSyncExternalStore } from 'react'
import { useKeys } from '../keys.ts'
import type { LiveState } from '../live/live.ts'
import { hasCompany } from '../may.ts'
import { Button } from '../parts/button.tsx'
import { Announcer } from '../parts/feedback/announcer.tsx'
import { Icon } from '../parts/icon.tsx'
import { text } from '../texts/text.ts'
import { useActingName } from './acting.ts'
import { useLiveUpdates } from './live-updates.tsx'
import { Nav } from './nav.tsx'
import { NO_RECORD, screensOf } from './screens.ts'
import { useSession } from './session-context.ts'
import css from './shell.module.css'

const KeysDialog = lazy(() =>
  import('./session-menu/keys-dialog.tsx').then(({ KeysDialog: component }) => ({ default: component })),
)

/** The navigation beside the screen; below it on a small window. */
export function Shell({ children }: { children: ReactNode }) {
  return hasCompany(useSession()) ? <LiveFrame>{children}</LiveFrame> : <Frame state={undefined}>{children}</Frame>
}

/** Only a company has a stream. */
const LiveFrame = ({ children }: { children: ReactNode }) => <Frame state={useLiveUpdates()}>{children}</Frame>

function Frame({ state, children }: { state: LiveState | undefined; children: ReactNode }) {
  const [areKeysShown, showKeys] = useState(false)
  const navigate = useNavigate()
  const acting = useActingName()
  const isOnline = useSyncExternalStore(watchNetwork, () => navigator.onLine)
  useKeys({
    '?': () => showKeys(true),
    ...Object.fromEntries(
      screensOf(useSession()).flatMap(({ key, to }) =>
        key === null ? [] : [[key, () => navigate({ to, params: NO_RECORD })]],
      ),
    ),
  })
  return (
    <div className={css.shell}>
      <a href="#content" className={css.skip}>
        {text.nav.skip}
      </a>
      <Nav state={isOnline ? state : state && 'down'} onKeys={() => showKeys(true)} />
      <main id="content" className={css.main} tabIndex={-1}>
        <Strip state={state} isOnline={isOnline} />
        {acting !== undefined && <ActingBanner name={acting} />}
        <div className={css.screen}>{children}</div>
      </main>
      <Announcer />
      {areKeysShown && (
        <Suspense>
          <KeysDialog onClose={() => showKeys(false)} />
        </Suspense>
      )}
    </div>
  )
}

/** Says when the page is offline or not live. */
function Strip({ state, isOnline }: { state: LiveState | undefined; isOnline: boolean }) {
  if (isOnline && state !== 'down') return null
  return (
    <p className={css.strip} role="status">
      <Icon name="offline" />
      {isOnline ? text.live.strip : text.live.offline}
    </p>
  )
}

function ActingBanner({ name }: { name: string }) {
  return (
    <div className={css.banner} role="status">
      <span>{text.acting.banner(name)}</span>
      <Button look="quiet" onClick={() => location.assign('/console/companies')}>
        {text.acting.leave}
      </Button>
    </div>
  )
}

function watchNetwork(listener: () => void): () => void {
  addEventListener('online', listener)
  addEventListener('offline', listener)
  return () => {
    removeEventListener('online', listener)
    removeEventListener('offline', listener)
  }
}
