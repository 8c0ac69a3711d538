import { useQuery } from '@tanstack/react-query'
import { Link, useRouterState } from '@tanstack/react-router'
import { lazy, Suspense, useEffect } from 'react'
import { unreadQuery } from '../inbox/conversation-queries.ts'
import type { LiveState } from '../live/live.ts'
import { hasCompany } from '../may.ts'
import { classes } from '../parts/classes.ts'
import { Icon } from '../parts/icon.tsx'
import { Logo } from '../parts/logo.tsx'
import { text } from '../texts/text.ts'
import { useActingName } from './acting.ts'
import css from './nav.module.css'
import { NO_RECORD, screensOf } from './screens.ts'
import { useSession } from './session-context.ts'
import { markUnread } from './window-title.ts'

/** The menu needs the popups, which the first screen does not wait for. */
const SessionMenu = lazy(() =>
  import('./session-menu/session-menu.tsx').then(({ SessionMenu: component }) => ({ default: component })),
)

/** The screens of the session, the state of the stream, and the session itself. */
export function Nav({ state, onKeys }: { state: LiveState | undefined; onKeys: () => void }) {
  const session = useSession()
  const acting = useActingName()
  const path = useRouterState({ select: ({ location }) => location.pathname })
  return (
    <nav className={css.nav} aria-label={text.nav.label}>
      <div className={css.brand}>
        <Logo size={22} />
        <bdi className={css.company}>{session.company?.name ?? acting ?? text.product}</bdi>
      </div>
      <ul className={css.screens}>
        {screensOf(session).map(({ name, to, icon, below }) => (
          <li key={name} className={css.screen}>
            <Link
              to={to}
              params={NO_RECORD}
              className={classes(css.link, below?.some((one) => path.startsWith(one)) && css.active)}
              activeProps={{ className: css.active ?? '' }}
            >
              <Icon name={icon} />
              <span className={css.label}>{text.nav[name]}</span>
              {name === 'inbox' && <Unread />}
            </Link>
          </li>
        ))}
      </ul>
      <div className={css.foot}>
        {state !== undefined && hasCompany(session) && <Live state={state} />}
        <Suspense fallback={<span className={css.place} />}>
          <SessionMenu session={session} onKeys={onKeys} />
        </Suspense>
      </div>
    </nav>
  )
}

/** The number of open conversations with unread messages: here, and in the title and the icon of the window. */
function Unread() {
  const { data = [] } = useQuery(unreadQuery)
  const rows = data.length
  useEffect(() => markUnread(rows), [rows])
  useEffect(() => () => markUnread(0), [])
  if (rows === 0) return null
  return (
    <span className={css.unread}>
      <span aria-hidden="true">{text.inbox.unreadShort(rows)}</span>
      <span className={css.hidden}>{text.inbox.unreadCount(rows)}</span>
    </span>
  )
}

function Live({ state }: { state: LiveState }) {
  const label = state === 'live' ? text.live.isLive : state === 'down' ? text.live.isNotLive : text.live.connecting
  return (
    <span className={classes(css.live, state === 'live' && css.isLive, state === 'down' && css.isDown)}>
      <span className={css.dot} />
      {label}
    </span>
  )
}
