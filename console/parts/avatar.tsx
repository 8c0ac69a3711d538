import css from './avatar.module.css'
import { classes } from './classes.ts'
import { Icon } from './icon.tsx'

const HUES = [css.h0, css.h1, css.h2, css.h3, css.h4]

/** The initials of a name on one of five calm colors, always the same for one `seed`; without a name an icon. */
export function Avatar({
  name,
  seed,
  size = 'normal',
}: {
  name: string | null
  seed: number
  size?: 'normal' | 'large'
}) {
  const initials = name === null ? '' : initialsOf(name)
  return (
    <span className={classes(css.avatar, css[size], HUES[seed % HUES.length])} aria-hidden="true">
      {initials === '' ? <Icon name="person" /> : initials}
    </span>
  )
}

function initialsOf(name: string): string {
  const names = name.split(/\s+/).filter((word) => /^\p{L}/u.test(word))
  const letters = [names[0], names.length > 1 ? names.at(-1) : undefined].map((word) => [...(word ?? '')][0] ?? '')
  return letters.join('').toLocaleUpperCase()
}
