import { Link } from '@tanstack/react-router'
import { Icon } from '../parts/icon.tsx'
import { Logo } from '../parts/logo.tsx'
import { text } from '../texts/text.ts'
import css from './nav.module.css'
import { screensOf } from './screens.ts'
import { useSession } from './session-context.ts'

/** The screens of the session, and the session itself. */
export function Nav() {
  const session = useSession()
  return (
    <nav className={css.nav} aria-label={text.nav.label}>
      <div className={css.brand}>
        <Logo size={22} />
        <span className={css.company}>{session.company?.name ?? text.product}</span>
      </div>
      <ul className={css.screens}>
        {screensOf(session).map(({ name, to, icon }) => (
          <li key={name}>
            <Link to={to} params={{}} className={css.link ?? ''} activeProps={{ className: css.active ?? '' }}>
              <Icon name={icon} />
              <span>{text.nav[name]}</span>
            </Link>
          </li>
        ))}
      </ul>
    </nav>
  )
}
