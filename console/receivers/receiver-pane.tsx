import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useNavigate, useSearch } from '@tanstack/react-router'
import { useState } from 'react'
import type { Registration } from '../../client/src/generated/schemas.ts'
import { api } from '../client.ts'
import { Button, IconButton } from '../parts/button.tsx'
import { classes } from '../parts/classes.ts'
import { Badge } from '../parts/feedback/badge.tsx'
import { Failure } from '../parts/feedback/failure.tsx'
import { faultText } from '../parts/feedback/failure-text.ts'
import { Skeleton } from '../parts/lists/skeleton.tsx'
import pane from '../parts/pane.module.css'
import { Dialog } from '../parts/popups/dialog.tsx'
import { Menu, MenuItem, MenuLine } from '../parts/popups/menu.tsx'
import { receiverText } from '../texts/receivers.ts'
import { text } from '../texts/text.ts'
import { Deliveries } from './deliveries/deliveries.tsx'
import { DeliveryPane } from './deliveries/delivery-pane.tsx'
import { ReceiverForm } from './form/receiver-form.tsx'
import css from './receiver-pane.module.css'
import { receiverQuery, receiversQuery } from './receiver-queries.ts'
import { TestResult, useTest } from './test-result.tsx'

/** One receiver: its state, its deliveries, and the delivery that is open. */
export function ReceiverPane({ id }: { id: number }) {
  const { data: receiver, error, refetch } = useQuery(receiverQuery(id))
  const search = useSearch({ from: '/receivers/{-$id}' })
  const test = useTest(id)
  const leave = useLeave()
  if (receiver === undefined) {
    if (error === null) return <Skeleton rows={5} />
    return <Failure error={error} retry={refetch} missing={{ title: receiverText.notFound, onBack: leave }} />
  }
  return (
    <div className={classes(pane.pane, css.pane)}>
      <Head receiver={receiver} onTest={test.run} isTesting={test.isRunning} />
      <TestResult test={test} />
      <div className={classes(css.body, search.delivery !== undefined && css.isOpen)}>
        <Deliveries receiverId={id} search={search} />
        <div className={css.delivery}>
          <DeliveryPane receiver={receiver} search={search} />
        </div>
      </div>
    </div>
  )
}

/** Shows the list alone. */
function useLeave() {
  const navigate = useNavigate({ from: '/receivers/{-$id}' })
  return () => navigate({ params: { id: undefined }, search: {} })
}

type HeadProps = { receiver: Registration; onTest: () => void; isTesting: boolean }

function Head({ receiver, onTest, isTesting }: HeadProps) {
  const { id, name, url, method, status, hasSecret } = receiver
  const leave = useLeave()
  const [dialog, open] = useState<'edit' | 'remove'>()
  const { mutate: setStatus, error } = useStatus(id)
  const close = () => open(undefined)
  return (
    <header className={pane.head}>
      <IconButton icon="back" label={text.back} className={pane.back} onClick={leave} />
      <div className={pane.title}>
        <h2 className={css.name}>
          <bdi className={pane.cut}>{name}</bdi>
          <Badge tone={status === 'active' ? 'good' : 'plain'}>{receiverText[status]}</Badge>
          <span className={hasSecret ? css.signed : undefined}>
            <Badge tone={hasSecret ? 'plain' : 'warn'}>{hasSecret ? receiverText.signed : receiverText.unsigned}</Badge>
          </span>
        </h2>
        <p className={classes(pane.about, pane.cut)} dir="ltr">
          {method} {url}
        </p>
        {error && <p role="alert">{faultText(error)}</p>}
      </div>
      <Button icon="test" isBusy={isTesting} onClick={onTest}>
        {receiverText.test}
      </Button>
      <Menu align="end" trigger={<IconButton icon="more" label={text.more} />}>
        <MenuItem icon="edit" onClick={() => open('edit')}>
          {receiverText.edit}
        </MenuItem>
        <MenuItem
          icon={status === 'active' ? 'pause' : 'test'}
          onClick={() => setStatus(status === 'active' ? 'inactive' : 'active')}
        >
          {status === 'active' ? receiverText.pause : receiverText.resume}
        </MenuItem>
        <MenuLine />
        <MenuItem icon="remove" isDanger onClick={() => open('remove')}>
          {receiverText.remove}
        </MenuItem>
      </Menu>
      {dialog === 'edit' && <ReceiverForm receiver={receiver} onClose={close} onDone={close} />}
      {dialog === 'remove' && <RemoveDialog receiver={receiver} onClose={close} />}
    </header>
  )
}

function useStatus(id: number) {
  const client = useQueryClient()
  return useMutation({
    mutationFn: (status: Registration['status']) => api.updateRegistration({ id }, { status }),
    onSuccess: () => client.invalidateQueries({ queryKey: receiversQuery.queryKey }),
  })
}

function RemoveDialog({ receiver: { id, name }, onClose }: { receiver: Registration; onClose: () => void }) {
  const client = useQueryClient()
  const leave = useLeave()
  const { mutate, error, isPending } = useMutation({
    mutationFn: () => api.removeRegistration({ id }),
    onSuccess: async () => {
      await leave()
      await client.invalidateQueries({ queryKey: receiversQuery.queryKey })
    },
  })
  return (
    <Dialog
      title={receiverText.removeTitle}
      intro={receiverText.removeText(name)}
      isOpen
      onClose={onClose}
      actions={
        <>
          <Button onClick={onClose}>{text.cancel}</Button>
          <Button look="danger" isBusy={isPending} onClick={() => mutate()}>
            {receiverText.remove}
          </Button>
        </>
      }
    >
      {error && <p role="alert">{faultText(error)}</p>}
    </Dialog>
  )
}
