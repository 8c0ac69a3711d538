import type { ButtonHTMLAttributes, Ref } from 'react'
import css from './button.module.css'
import { classes } from './classes.ts'
import { Icon, type IconName } from './icon.tsx'

type Props = ButtonHTMLAttributes<HTMLButtonElement> & {
  look?: 'primary' | 'plain' | 'quiet' | 'danger'
  icon?: IconName
  /** Whether it opens a menu. */
  isMenu?: boolean
  /** While it is true, the button keeps its width and takes no press. */
  isBusy?: boolean
  ref?: Ref<HTMLButtonElement>
}

/** A button with a text. */
export function Button({
  look = 'plain',
  icon,
  isMenu = false,
  isBusy = false,
  className,
  children,
  ...others
}: Props) {
  return (
    <button
      type="button"
      {...others}
      aria-disabled={isBusy || undefined}
      onClick={isBusy ? undefined : others.onClick}
      className={classes(css.button, css[look], isBusy && css.busy, className)}
    >
      {icon && <Icon name={icon} />}
      <span>{children}</span>
      {isMenu && <Icon name="down" size={14} />}
    </button>
  )
}

/** A button that shows an icon only; `label` names it for screen readers and on hover. */
export function IconButton({
  icon,
  label,
  className,
  ...others
}: ButtonHTMLAttributes<HTMLButtonElement> & { icon: IconName; label: string; ref?: Ref<HTMLButtonElement> }) {
  return (
    <button type="button" title={label} aria-label={label} {...others} className={classes(css.icon, className)}>
      <Icon name={icon} />
    </button>
  )
}
