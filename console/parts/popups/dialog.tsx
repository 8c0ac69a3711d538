import { Dialog as Base } from '@base-ui/react/dialog'
import type { ReactNode } from 'react'
import { text } from '../../texts/text.ts'
import { IconButton } from '../button.tsx'
import { classes } from '../classes.ts'
import css from './dialog.module.css'

type Props = {
  title: string
  intro?: ReactNode
  isOpen: boolean
  onClose: () => void
  size?: 'small' | 'large'
  /** The buttons at the end. */
  actions?: ReactNode
  children?: ReactNode
}

/** A dialog above the page; a sheet at its lower edge on a small window. */
export function Dialog({ title, intro, isOpen, onClose, size = 'small', actions, children }: Props) {
  return (
    <Base.Root open={isOpen} onOpenChange={(open) => !open && onClose()}>
      <Base.Portal>
        <Base.Backdrop className={css.scrim ?? ''} />
        <Base.Popup className={classes(css.popup, css[size])}>
          <header className={css.header}>
            <Base.Title className={css.title ?? ''}>{title}</Base.Title>
            <Base.Close render={<IconButton icon="close" label={text.close} />} />
          </header>
          {intro && <Base.Description className={css.intro ?? ''}>{intro}</Base.Description>}
          {children && <div className={css.body}>{children}</div>}
          {actions && <footer className={css.actions}>{actions}</footer>}
        </Base.Popup>
      </Base.Portal>
    </Base.Root>
  )
}
