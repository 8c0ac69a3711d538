import { Link } from '@tanstack/react-router'
import type { Delivery, ListedDelivery } from '../../../client/src/generated/schemas.ts'
import { EVENTS } from '../../generated/lists.ts'
import { summaryOf } from '../../inbox/list/summary.ts'
import { Badge, type Tone } from '../../parts/feedback/badge.tsx'
import { momentWithSeconds, utc } from '../../texts/format.ts'
import { deliveryText } from '../../texts/receivers.ts'
import { text } from '../../texts/text.ts'
import css from './delivery-row.module.css'

export const ROW_PX = 60

export const TONES: Record<Delivery['status'], Tone> = {
  pending: 'warn',
  delivered: 'good',
  dead: 'bad',
  skipped: 'plain',
}

/** A delivery: its customer, the first words of the message, and the outcome. */
export function DeliveryRow({ delivery }: { delivery: ListedDelivery }) {
  const { id, eventId, status, attempts, lastStatusCode, createdAt } = delivery
  return (
    <Link
      from="/receivers/{-$id}"
      search={({ view: _, attempt: __, ...kept }) => ({ ...kept, delivery: id })}
      params={(kept) => kept}
      className={css.row ?? ''}
      activeProps={{ className: css.active ?? '' }}
      data-delivery={id}
    >
      <bdi className={css.about}>{aboutOf(delivery)}</bdi>
      <time dateTime={createdAt} title={utc(createdAt)} className={css.time}>
        {momentWithSeconds(createdAt)}
      </time>
      <span className={css.words} dir="auto" title={eventId}>
        {summaryOfDelivery(delivery)}
      </span>
      <span className={css.outcome}>
        <span className={css.attempts}>{attempts > 1 && deliveryText.attempts(attempts)}</span>
        <Badge tone={TONES[status]}>
          {deliveryText.statusOf[status]}
          {lastStatusCode !== null && ` ${lastStatusCode}`}
        </Badge>
      </span>
    </Link>
  )
}

function aboutOf({ event, message }: ListedDelivery): string {
  if (message === null) return eventName(event)
  const { name, phone } = message.contact
  return name ?? (phone === null ? deliveryText.unknownCustomer : text.phoneNumber(phone))
}

/** A message reads as in the inbox, another event is named by its id. A status says that it is one. */
function summaryOfDelivery({ event, eventId, message }: ListedDelivery): string {
  if (message === null) return eventId
  const summary = summaryOf({ kind: message.type, text: message.text }) || `[${message.type}]`
  return event === 'whatsapp.message.received' ? summary : `${eventName(event)}: ${summary}`
}

const eventName = (event: string): string => EVENTS.find(({ name }) => name === event)?.label ?? event
