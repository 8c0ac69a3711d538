import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import type { Conversation, ScheduledMessage } from '../../../../client/src/generated/schemas.ts'
import { api } from '../../../client.ts'
import { Button } from '../../../parts/button.tsx'
import { faultText } from '../../../parts/feedback/failure-text.ts'
import { Icon } from '../../../parts/icon.tsx'
import { dateAndTime, utc } from '../../../texts/format.ts'
import { text } from '../../../texts/text.ts'
import css from './scheduled.module.css'
import { scheduledQuery } from './scheduled-queries.ts'

/** The messages of a conversation that are sent later, above the answer. Nothing is shown while there are none. */
export function Scheduled({ record: { chatId } }: { record: Conversation }) {
  const { data = [] } = useQuery(scheduledQuery(chatId))
  if (data.length === 0) return null
  return (
    <ul className={css.list} aria-label={text.scheduled.list}>
      {data.map((message) => (
        <Row key={message.id} chatId={chatId} message={message} />
      ))}
    </ul>
  )
}

function Row({ chatId, message }: { chatId: number; message: ScheduledMessage }) {
  const client = useQueryClient()
  const { id, sendAt, type, error } = message
  const {
    mutate,
    isPending,
    error: fault,
  } = useMutation({
    mutationFn: () => api.cancelScheduledMessage({ id }),
    // Also after a refusal: it was sent meanwhile.
    onSettled: () => client.invalidateQueries(scheduledQuery(chatId)),
  })
  const hasFailed = error !== null
  return (
    <li className={css.row} data-scheduled={id} data-failed={hasFailed || undefined}>
      <Icon name={hasFailed ? 'alert' : 'clock'} size={14} />
      <div className={css.words}>
        <p className={css.text} dir="auto">
          {message.text ?? `[${type}]`}
        </p>
        <p className={css.about}>
          <time dateTime={sendAt} title={utc(sendAt)}>
            {hasFailed ? text.scheduled.failed(dateAndTime(sendAt)) : text.scheduled.at(dateAndTime(sendAt))}
          </time>
          {hasFailed && ` ${error.message}`}
        </p>
        {fault && <p role="alert">{faultText(fault)}</p>}
      </div>
      <Button look="quiet" isBusy={isPending} onClick={() => mutate()}>
        {hasFailed ? text.scheduled.remove : text.scheduled.cancel}
      </Button>
    </li>
  )
}
