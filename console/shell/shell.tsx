import type { ReactNode } from 'react'
import { Nav } from './nav.tsx'
import css from './shell.module.css'

/** The navigation beside the screen; below it on a small window. */
export function Shell({ children }: { children: ReactNode }) {
  return (
    <div className={css.shell}>
      <Nav />
      <main id="content" className={css.main} tabIndex={-1}>
        {children}
      </main>
    </div>
  )
}
