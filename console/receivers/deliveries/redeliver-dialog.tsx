import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { api } from '../../client.ts'
import { Button } from '../../parts/button.tsx'
import { announce } from '../../parts/feedback/announcer.tsx'
import { faultText } from '../../parts/feedback/failure-text.ts'
import { Dialog } from '../../parts/popups/dialog.tsx'
import { deliveryText } from '../../texts/receivers.ts'
import { text } from '../../texts/text.ts'
import { sinceOf } from '../receiver-queries.ts'

type Props = { receiverId: number; hours: number; isOnlyDead: boolean; onClose: () => void }

/** Shows how many deliveries the filter matches before it enqueues them; the request has the range that was counted. */
export function RedeliverDialog({ receiverId, hours, isOnlyDead, onClose }: Props) {
  const client = useQueryClient()
  const [range] = useState(() => ({ since: sinceOf(hours), until: new Date().toISOString() }))
  const [key] = useState(() => crypto.randomUUID())
  const body = { ...range, onlyDeadLettered: isOnlyDead }
  const counted = useQuery({
    queryKey: ['redelivery', receiverId, body],
    queryFn: () => api.redeliverRange({ id: receiverId }, { ...body, dryRun: true }),
    staleTime: Number.POSITIVE_INFINITY,
  })
  const {
    mutate,
    data: done,
    error,
    isPending,
  } = useMutation({
    mutationFn: () => api.redeliverRange({ id: receiverId }, body, { idempotencyKey: key }),
    onSuccess: ({ count }) => {
      announce(deliveryText.redeliverDone(count))
      void client.invalidateQueries({ queryKey: ['deliveries', receiverId] })
    },
  })
  const fault = error ?? counted.error
  const found = counted.data?.count
  const intro =
    done !== undefined
      ? deliveryText.redeliverDone(done.count)
      : found === undefined
        ? deliveryText.counting
        : found === 0
          ? deliveryText.redeliverNone
          : deliveryText.redeliverCount(found)
  return (
    <Dialog
      title={deliveryText.redeliverTitle}
      isOpen
      onClose={onClose}
      intro={fault ? undefined : intro}
      actions={
        <>
          <Button onClick={onClose}>{done === undefined ? text.cancel : text.close}</Button>
          {done === undefined && (
            <Button look="primary" icon="refresh" disabled={!found} isBusy={isPending} onClick={() => mutate()}>
              {deliveryText.redeliverNow(found ?? 0)}
            </Button>
          )}
        </>
      }
    >
      {fault ? <p role="alert">{faultText(fault)}</p> : <p>{periodOf(hours, isOnlyDead)}</p>}
    </Dialog>
  )
}

function periodOf(hours: number, isOnlyDead: boolean): string {
  const period = new Map(Object.entries(deliveryText.sinceHours)).get(String(hours)) ?? ''
  return deliveryText.redeliverFrom(period, isOnlyDead ? deliveryText.dead : deliveryText.all)
}
