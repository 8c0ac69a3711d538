import { type ReactNode, useEffect, useState } from 'react'
import { text } from '../../texts/text.ts'
import { classes } from '../classes.ts'
import css from './skeleton.module.css'

const DELAY_MS = 150

type Props = { rows?: number; className?: string | undefined; children?: ReactNode }

/** Grey shapes in the place of content, bars by default. They appear after 150 ms, so that a quick answer does not flicker. */
export function Skeleton({ rows = 3, className, children }: Props) {
  const [isShown, show] = useState(false)
  useEffect(() => {
    const timer = setTimeout(() => show(true), DELAY_MS)
    return () => clearTimeout(timer)
  }, [])
  return (
    <div className={classes(css.skeleton, isShown && css.shown, className)} role="status">
      <span className={css.hidden}>{text.loading}</span>
      {children ??
        Array.from({ length: rows }, (_, row) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: the bars are all alike
          <div key={row} className={css.row} />
        ))}
    </div>
  )
}
