import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useEffect, useRef } from 'react'
import type { DeliveryDetails, Registration } from '../../../client/src/generated/schemas.ts'
import { api } from '../../client.ts'
import { Button, IconButton } from '../../parts/button.tsx'
import { classes } from '../../parts/classes.ts'
import { Badge } from '../../parts/feedback/badge.tsx'
import { Choose } from '../../parts/feedback/empty.tsx'
import { Failure } from '../../parts/feedback/failure.tsx'
import { faultText } from '../../parts/feedback/failure-text.ts'
import { CopyButton } from '../../parts/json/copy-button.tsx'
import { JsonView } from '../../parts/json/json-view.tsx'
import { Skeleton } from '../../parts/lists/skeleton.tsx'
import pane from '../../parts/pane.module.css'
import { Tabs } from '../../parts/tabs.tsx'
import type { ReceiverSearch } from '../../search.ts'
import { momentWithSeconds } from '../../texts/format.ts'
import { deliveryText } from '../../texts/receivers.ts'
import { text } from '../../texts/text.ts'
import { deliveryQuery, signedNow } from '../receiver-queries.ts'
import { Attempts } from './attempts.tsx'
import { curlLine } from './curl-line.ts'
import css from './delivery-pane.module.css'
import { TONES } from './delivery-row.tsx'

const VIEWS = [
  { value: 'payload', label: deliveryText.payload },
  { value: 'headers', label: deliveryText.headers },
  { value: 'answer', label: deliveryText.answer },
] as const

/** One delivery: its attempts, and what was sent and answered. */
export function DeliveryPane({ receiver, search }: { receiver: Registration; search: ReceiverSearch }) {
  const { delivery: deliveryId = 0, attempt } = search
  const leave = useLeave()
  const navigate = useNavigate({ from: '/receivers/{-$id}' })
  const query = { ...deliveryQuery(receiver.id, deliveryId, attempt), enabled: deliveryId !== 0 }
  const { data: details, error, refetch } = useQuery(query)
  if (deliveryId === 0) {
    return <Choose icon="receivers" title={deliveryText.choose} text={deliveryText.chooseText} />
  }
  if (details === undefined) {
    if (error === null) return <Skeleton rows={5} />
    const missing = { title: deliveryText.notFound, text: deliveryText.notFoundText, onBack: leave }
    return <Failure error={error} retry={refetch} missing={missing} />
  }
  const chosen = details.attempts.find(({ id }) => id === attempt) ?? details.attempts[0]
  const choose = (id: number) =>
    navigate({ search: (kept) => ({ ...kept, attempt: id, view: kept.view ?? 'answer' }), replace: true })
  return (
    <article className={pane.pane} aria-label={deliveryText.title(details.delivery.id)}>
      <Head key={deliveryId} receiverId={receiver.id} details={details} />
      <Attempts attempts={details.attempts} chosenId={chosen?.id} onChoose={choose} />
      <Content
        receiver={receiver}
        details={details}
        answer={chosen?.response ?? null}
        view={search.view ?? 'payload'}
      />
    </article>
  )
}

/** Shows the deliveries alone. */
function useLeave() {
  const navigate = useNavigate({ from: '/receivers/{-$id}' })
  return () => navigate({ search: ({ delivery: _, view: __, attempt: ___, ...kept }) => kept })
}

function Head({ receiverId, details }: { receiverId: number; details: DeliveryDetails }) {
  const { id, eventId, status, nextAttemptAt } = details.delivery
  const leave = useLeave()
  const { mutate, isPending, error, isSuccess } = useRedeliver(receiverId, details)
  const heading = useRef<HTMLHeadingElement>(null)
  // The rows of the list stand between the chosen one and this pane.
  useEffect(() => heading.current?.focus(), [])
  return (
    <header className={pane.head}>
      <IconButton icon="back" label={text.back} className={css.back} onClick={leave} />
      <div className={pane.title}>
        <h2 ref={heading} tabIndex={-1} className={pane.cut}>
          {deliveryText.title(id)}
        </h2>
        <p className={classes(pane.about, css.about)}>
          <Badge tone={TONES[status]}>{deliveryText.statusOf[status]}</Badge>
          <bdi className={pane.cut}>
            {nextAttemptAt === null ? eventId : deliveryText.next(momentWithSeconds(nextAttemptAt))}
          </bdi>
        </p>
        {error && (
          <p role="alert" className={pane.fault}>
            {faultText(error)}
          </p>
        )}
        {isSuccess && (
          <p role="status" className={classes(pane.about, css.done)}>
            {deliveryText.redelivered}
          </p>
        )}
      </div>
      <CopyButton value={location.href} label={deliveryText.copyLink} />
      <Button
        icon="refresh"
        aria-label={deliveryText.redeliver}
        isBusy={isPending}
        disabled={details.attempts.length === 0}
        onClick={() => mutate()}
      >
        <span className={css.redeliver}>{deliveryText.redeliver}</span>
      </Button>
    </header>
  )
}

function useRedeliver(receiverId: number, { delivery: { id }, attempts }: DeliveryDetails) {
  const client = useQueryClient()
  return useMutation({
    mutationFn: () =>
      api.redeliver(
        { id: receiverId, logId: attempts[0]?.id ?? 0 },
        { idempotencyKey: `redeliver-${id}-${attempts.length}` },
      ),
    onSuccess: () => client.invalidateQueries({ queryKey: ['deliveries', receiverId] }),
  })
}

type View = 'payload' | 'headers' | 'answer'
type ContentProps = { receiver: Registration; details: DeliveryDetails; answer: string | null; view: View }

function Content({ receiver, details, answer, view }: ContentProps) {
  const navigate = useNavigate({ from: '/receivers/{-$id}' })
  const { source, none } = sourceOf(details, answer, view)
  const curl = async () => curlLine(receiver, await signedNow(receiver.id, details.delivery.id))
  return (
    <div className={css.content}>
      <div className={css.bar}>
        <Tabs
          label={text.json.label}
          value={view}
          choices={VIEWS}
          onChange={(chosen) =>
            navigate({
              search: ({ view: _, ...kept }) => (chosen === 'payload' ? kept : { ...kept, view: chosen }),
              replace: true,
            })
          }
        />
        <span className={css.copies}>
          {view === 'payload' && source !== null && (
            <CopyButton value={curl} label={deliveryText.copyCurl} isLabelled />
          )}
          {source !== null && <CopyButton value={source} label={text.copy} />}
        </span>
      </div>
      <div className={css.view}>
        {source === null ? <p className={css.none}>{none}</p> : <JsonView key={view} source={source} label={view} />}
      </div>
    </div>
  )
}

function sourceOf({ payload, requestHeaders }: DeliveryDetails, answer: string | null, view: View) {
  if (view === 'payload') return { source: payload, none: deliveryText.removed }
  if (view === 'headers') {
    const hasHeaders = Object.keys(requestHeaders).length > 0
    return { source: hasHeaders ? JSON.stringify(requestHeaders) : null, none: deliveryText.noHeaders }
  }
  return { source: answer || null, none: deliveryText.noAnswer }
}
