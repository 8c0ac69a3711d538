import type { Message } from '../../../client/src/generated/schemas.ts'
import { classes } from '../../parts/classes.ts'
import { Icon, type IconName } from '../../parts/icon.tsx'
import { text } from '../../texts/text.ts'
import css from './ticks.module.css'

const ICONS: Record<Message['status'], IconName> = {
  received: 'check',
  pending: 'clock',
  sent: 'check',
  delivered: 'checks',
  read: 'checks',
  failed: 'alert',
  unknown: 'unknown',
}

/** The status of an outbound message: a shape, and for `read` a text, so that color is never the only sign. `isBrief`: the shape alone. */
export function Ticks({ status, isBrief = false }: { status: Message['status']; isBrief?: boolean }) {
  const label = status === 'unknown' ? text.ticks.unknownShort : text.ticks[status]
  return (
    <span className={classes(css.ticks, css[status])} title={label} data-status={status}>
      <span className={css.hidden}>{label}</span>
      {status === 'read' && !isBrief && <span aria-hidden="true">{text.ticks.readWord}</span>}
      <Icon name={ICONS[status]} size={14} />
    </span>
  )
}
