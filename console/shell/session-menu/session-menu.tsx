import { useQueryClient } from '@tanstack/react-query'
import { lazy, Suspense, useState } from 'react'
import { forgetDrafts } from '../../inbox/composer/draft.ts'
import { chooseEnterKey, isTouch, useEnterKey } from '../../inbox/composer/enter-key.ts'
import { forgetAttached } from '../../inbox/composer/files/attached.ts'
import { may } from '../../may.ts'
import { areNotificationsOn } from '../../notifications/setting.ts'
import { setNotifications } from '../../notifications/switch.ts'
import { Avatar } from '../../parts/avatar.tsx'
import { Icon } from '../../parts/icon.tsx'
import { Menu, MenuChoice, MenuItem, MenuLabel, MenuLine, MenuSwitch } from '../../parts/popups/menu.tsx'
import { type Session, sessionQuery, signOut } from '../../session.ts'
import { text } from '../../texts/text.ts'
import css from './session-menu.module.css'
import { chooseTheme, readTheme } from './theme.ts'

const ApiKeysDialog = lazy(async () => ({ default: (await import('./api-keys-dialog.tsx')).ApiKeysDialog }))
const QuickRepliesDialog = lazy(async () => ({
  default: (await import('./quick-replies-dialog.tsx')).QuickRepliesDialog,
}))
const SessionsDialog = lazy(async () => ({ default: (await import('./sessions-dialog.tsx')).SessionsDialog }))

const THEMES = [
  { value: 'light', label: text.menu.light, icon: 'sun' },
  { value: 'dark', label: text.menu.dark, icon: 'moon' },
  { value: 'system', label: text.menu.system, icon: 'screen' },
] as const

const ENTER = [
  { value: 'send', label: text.menu.enterSends },
  { value: 'break', label: text.menu.enterBreaks },
] as const

type Shown = 'sessions' | 'apiKeys' | 'quickReplies'

/** The name of the session; the theme, the shortcuts, the sessions, and signing out. */
export function SessionMenu({ session, onKeys }: { session: Session; onKeys: () => void }) {
  const client = useQueryClient()
  const enter = useEnterKey()
  const [theme, setTheme] = useState(readTheme)
  const [shown, show] = useState<Shown>()
  const close = () => show(undefined)
  const leave = async () => {
    await signOut()
    forgetDrafts()
    await forgetAttached()
    // The session stays in the cache, where the page that shows the sign-in reads it.
    client.setQueryData(sessionQuery.queryKey, null)
    client.removeQueries({ predicate: ({ queryKey }) => queryKey[0] !== sessionQuery.queryKey[0] })
  }
  const role = session.kind === 'operator' ? text.menu.operator : (session.company?.name ?? text.menu.company)
  return (
    <>
      <Menu
        side="top"
        trigger={
          <button type="button" className={css.trigger} title={text.menu.open}>
            <Avatar name={session.name} seed={4} />
            <span className={css.who}>
              <bdi className={css.name}>{session.name}</bdi>
              <bdi className={css.role}>{role}</bdi>
            </span>
            <span className={css.short}>{text.menu.account}</span>
            <Icon name="more" className={css.more} />
          </button>
        }
      >
        <MenuLabel>{text.menu.theme}</MenuLabel>
        <MenuChoice
          label={text.menu.theme}
          value={theme}
          choices={THEMES}
          onChange={(chosen) => {
            chooseTheme(chosen)
            setTheme(chosen)
          }}
        />
        {!isTouch() && (
          <>
            <MenuLabel>{text.menu.enter}</MenuLabel>
            <MenuChoice label={text.menu.enter} value={enter} choices={ENTER} onChange={chooseEnterKey} />
          </>
        )}
        <MenuLine />
        {'Notification' in globalThis && may(session, 'conversations') && <Notifications />}
        <MenuItem icon="keyboard" onClick={onKeys} keys="?">
          {text.menu.keys}
        </MenuItem>
        <CompanyItems session={session} show={show} />
        <MenuLine />
        <MenuItem icon="signOut" onClick={() => void leave()}>
          {text.menu.signOut}
        </MenuItem>
      </Menu>
      <Suspense>
        {shown === 'sessions' && <SessionsDialog onClose={close} />}
        {shown === 'quickReplies' && <QuickRepliesDialog onClose={close} />}
        {shown === 'apiKeys' && <ApiKeysDialog onClose={close} />}
      </Suspense>
    </>
  )
}

/** The switch of the notifications, which says when the browser does not allow them. */
function Notifications() {
  const [isOn, setOn] = useState(areNotificationsOn)
  const isBlocked = Notification.permission === 'denied'
  return (
    <MenuSwitch icon="bell" isOn={isOn} onChange={(turnOn) => void setNotifications(turnOn).then(setOn)}>
      {isBlocked ? text.menu.notificationsBlocked : text.menu.notifications}
    </MenuSwitch>
  )
}

/** The dialogs about the company that the role of the session opens. */
function CompanyItems({ session, show }: { session: Session; show: (dialog: Shown) => void }) {
  return (
    <>
      {may(session, 'quickReplies') && (
        <MenuItem icon="bolt" onClick={() => show('quickReplies')}>
          {text.menu.quickReplies}
        </MenuItem>
      )}
      {may(session, 'apiKeys') && (
        <MenuItem icon="lock" onClick={() => show('apiKeys')}>
          {text.menu.apiKeys}
        </MenuItem>
      )}
      {may(session, 'sessions') && (
        <MenuItem icon="person" onClick={() => show('sessions')}>
          {text.menu.sessions}
        </MenuItem>
      )}
    </>
  )
}
