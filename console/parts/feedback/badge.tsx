import type { ReactNode } from 'react'
import { classes } from '../classes.ts'
import css from './badge.module.css'

export type Tone = 'plain' | 'accent' | 'good' | 'warn' | 'bad'

/** A state as a text, which the color repeats. */
export function Badge({ tone = 'plain', children }: { tone?: Tone; children: ReactNode }) {
  return <span className={classes(css.badge, css[tone])}>{children}</span>
}
