import { useState } from 'react'
import { areKeysOn, setKeysOn } from '../../keys.ts'
import { may } from '../../may.ts'
import { Dialog } from '../../parts/popups/dialog.tsx'
import type { Session } from '../../session.ts'
import { text } from '../../texts/text.ts'
import { screensOf } from '../screens.ts'
import { useSession } from '../session-context.ts'
import css from './keys-dialog.module.css'

const { keys } = text
const SEND = /Mac|iPhone|iPad/.test(navigator.platform) ? '⌘ Enter' : 'Ctrl Enter'
type Group = { title: string; rows: [string, string][] }
const MOVE: Group = {
  title: keys.groups.move,
  rows: [
    ['j', keys.next],
    ['k', keys.previous],
    ['Enter', keys.open],
    ['u', keys.back],
    ['/', keys.search],
    ['Esc', keys.escape],
    ['?', keys.help],
  ],
}
const ACT: Group = {
  title: keys.groups.act,
  rows: [
    ['r', keys.write],
    ['t', keys.template],
    [SEND, keys.send],
    ['e', keys.close],
    ['s', keys.snooze],
    ['a', keys.assign],
  ],
}

/** The shortcuts of what the session may do. */
function groupsOf(session: Session): Group[] {
  const screens = screensOf(session)
  const go = screens.flatMap(({ key, name }): Group['rows'] => (key === null ? [] : [[key, text.nav[name]]]))
  return [
    MOVE,
    ...(may(session, 'conversations') ? [ACT] : []),
    ...(go.length > 0 ? [{ title: keys.groups.go, rows: go }] : []),
  ]
}

/** The shortcuts, and the switch that turns single keys off. */
export function KeysDialog({ onClose }: { onClose: () => void }) {
  const groups = groupsOf(useSession())
  const [isOn, setOn] = useState(areKeysOn)
  return (
    <Dialog title={keys.title} isOpen onClose={onClose} size="large">
      <div className={css.groups}>
        {groups.map(({ title, rows }) => (
          <section key={title} className={css.group}>
            <h3 className={css.title}>{title}</h3>
            <dl className={css.rows}>
              {rows.map(([key, label]) => (
                <div key={key} className={css.row}>
                  <dt>{label}</dt>
                  <dd>
                    {key.split(' ').map((part) => (
                      <kbd key={part} className={css.key}>
                        {part}
                      </kbd>
                    ))}
                  </dd>
                </div>
              ))}
            </dl>
          </section>
        ))}
      </div>
      <label className={css.switch}>
        <input
          type="checkbox"
          checked={isOn}
          onChange={({ target }) => {
            setKeysOn(target.checked)
            setOn(target.checked)
          }}
        />
        {keys.use}
      </label>
    </Dialog>
  )
}
