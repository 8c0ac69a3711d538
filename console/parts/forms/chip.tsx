import type { ReactNode } from 'react'
import css from './chip.module.css'

/** A filter that is on or off. */
export function Chip({
  isOn,
  onChange,
  children,
}: {
  isOn: boolean
  onChange: (isOn: boolean) => void
  children: ReactNode
}) {
  return (
    <button type="button" className={css.chip} aria-pressed={isOn} onClick={() => onChange(!isOn)}>
      {children}
    </button>
  )
}
