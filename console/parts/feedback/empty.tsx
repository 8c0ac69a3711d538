import type { ReactNode } from 'react'
import { Icon, type IconName } from '../icon.tsx'
import css from './empty.module.css'

type Props = { icon: IconName; title: string; text?: ReactNode; children?: ReactNode }

/** The place of a record that is not chosen. It is blank while the list before it has no rows to choose from. */
export const Choose = (props: Props) => (
  <div className={css.choose}>
    <Empty {...props} />
  </div>
)

/** A description of the missing content and the one action that adds it. */
export function Empty({ icon, title, text, children }: Props) {
  return (
    <div className={css.empty} data-empty>
      <span className={css.icon}>
        <Icon name={icon} size={20} />
      </span>
      <p className={css.title}>{title}</p>
      {text && <p className={css.text}>{text}</p>}
      {children && <div className={css.actions}>{children}</div>}
    </div>
  )
}
