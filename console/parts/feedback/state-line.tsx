import { classes } from '../classes.ts'
import type { Tone } from './badge.tsx'
import css from './state-line.module.css'

/** A state as a dot and words, which say all that the color says. */
export const StateLine = ({ tone, children }: { tone: Tone; children: string }) => (
  <span className={classes(css.state, css[tone])}>
    <span className={css.dot} />
    <span className={css.words}>{children}</span>
  </span>
)
