import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { forgetDrafts } from '../inbox/draft.ts'
import { Avatar } from '../parts/avatar.tsx'
import { Icon } from '../parts/icon.tsx'
import { Menu, MenuChoice, MenuItem, MenuLabel, MenuLine } from '../parts/menu.tsx'
import { type Session, sessionQuery, signOut } from '../session.ts'
import { text } from '../texts/text.ts'
import css from './session-menu.module.css'
import { SessionsDialog } from './sessions-dialog.tsx'
import { chooseTheme, readTheme } from './theme.ts'

const THEMES = [
  { value: 'light', label: text.menu.light, icon: 'sun' },
  { value: 'dark', label: text.menu.dark, icon: 'moon' },
  { value: 'system', label: text.menu.system, icon: 'screen' },
] as const

/** The name of the session; the theme, the shortcuts, the sessions, and signing out. */
export function SessionMenu({ session, onKeys }: { session: Session; onKeys: () => void }) {
  const client = useQueryClient()
  const [theme, setTheme] = useState(readTheme)
  const [areSessionsShown, showSessions] = useState(false)
  const leave = async () => {
    await signOut()
    forgetDrafts()
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
        <MenuLine />
        <MenuItem icon="keyboard" onClick={onKeys} keys="?">
          {text.menu.keys}
        </MenuItem>
        <MenuItem icon="person" onClick={() => showSessions(true)}>
          {text.menu.sessions}
        </MenuItem>
        <MenuLine />
        <MenuItem icon="signOut" onClick={() => void leave()}>
          {text.menu.signOut}
        </MenuItem>
      </Menu>
      {areSessionsShown && <SessionsDialog onClose={() => showSessions(false)} />}
    </>
  )
}
