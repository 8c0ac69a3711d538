import { useQuery } from '@tanstack/react-query'
import { Link, useNavigate, useParams } from '@tanstack/react-router'
import { useState } from 'react'
import type { Registration } from '../../client/src/generated/schemas.ts'
import { Button } from '../parts/button.tsx'
import { classes } from '../parts/classes.ts'
import { Choose, Empty } from '../parts/feedback/empty.tsx'
import { Failure } from '../parts/feedback/failure.tsx'
import { StateLine } from '../parts/feedback/state-line.tsx'
import { Skeleton } from '../parts/lists/skeleton.tsx'
import pane from '../parts/pane.module.css'
import { Screen } from '../shell/screen.tsx'
import { receiverText } from '../texts/receivers.ts'
import { NewReceiver } from './form/new-receiver.tsx'
import { ReceiverPane } from './receiver-pane.tsx'
import { receiversQuery } from './receiver-queries.ts'
import { stateOf } from './receiver-state.ts'
import css from './receivers.module.css'

/** How often the states in the list are read again. */
const STATE_EVERY_MS = 10_000

/** The receivers of the company, and beside them the deliveries of the one that is open. */
export function Receivers() {
  const { id } = useParams({ from: '/receivers/{-$id}' })
  return (
    <Screen title={receiverText.title} part="receivers">
      <div className={pane.split} data-open={id !== undefined}>
        <List />
        <div className={pane.main}>
          {id === undefined ? (
            <Choose icon="receivers" title={receiverText.choose} text={receiverText.intro} />
          ) : (
            <ReceiverPane key={id} id={Number(id)} />
          )}
        </div>
      </div>
    </Screen>
  )
}

function List() {
  const { data, error, refetch } = useQuery({ ...receiversQuery, refetchInterval: STATE_EVERY_MS })
  const [isAdding, add] = useState(false)
  const navigate = useNavigate({ from: '/receivers/{-$id}' })
  return (
    <section className={classes(pane.pane, pane.side)} aria-label={receiverText.title}>
      <header className={pane.head}>
        <h2 className={pane.title}>{receiverText.title}</h2>
        <Button icon="plus" onClick={() => add(true)}>
          {receiverText.add}
        </Button>
      </header>
      {data === undefined ? (
        error ? (
          <Failure error={error} retry={refetch} />
        ) : (
          <Skeleton rows={4} />
        )
      ) : data.length === 0 ? (
        <Empty icon="receivers" title={receiverText.none} text={receiverText.noneText}>
          <Button look="primary" icon="plus" onClick={() => add(true)}>
            {receiverText.add}
          </Button>
        </Empty>
      ) : (
        <ul className={css.list}>
          {data.map((one) => (
            <li key={one.id}>
              <Row receiver={one} />
            </li>
          ))}
        </ul>
      )}
      {isAdding && (
        <NewReceiver
          onClose={() => add(false)}
          onDone={({ id }) => {
            add(false)
            void navigate({ params: { id: String(id) } })
          }}
        />
      )}
    </section>
  )
}

function Row({ receiver }: { receiver: Registration }) {
  const { id, name, url } = receiver
  const { tone, words } = stateOf(receiver)
  return (
    <Link
      from="/receivers/{-$id}"
      params={{ id: String(id) }}
      search={{}}
      className={css.row ?? ''}
      activeProps={{ className: css.active ?? '' }}
      activeOptions={{ includeSearch: false }}
    >
      <bdi className={css.name}>{name}</bdi>
      <span className={classes(pane.about, pane.cut)} dir="ltr" title={url}>
        {url.replace(/^https?:\/\//, '')}
      </span>
      <StateLine tone={tone}>{words}</StateLine>
    </Link>
  )
}
