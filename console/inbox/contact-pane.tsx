import { queryOptions, useQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import type { Contact, Conversation } from '../../client/src/generated/schemas.ts'
import { api } from '../client.ts'
import { Avatar } from '../parts/avatar.tsx'
import { Badge } from '../parts/badge.tsx'
import { Button, IconButton } from '../parts/button.tsx'
import { Failure } from '../parts/failure.tsx'
import { CopyButton } from '../parts/json/copy-button.tsx'
import { Skeleton } from '../parts/lists/skeleton.tsx'
import { useSession } from '../shell/session-context.ts'
import { date, utc } from '../texts/format.ts'
import { text } from '../texts/text.ts'
import css from './contact-pane.module.css'
import { nameOf } from './list/conversation-row.tsx'
import { useChange } from './use-change.ts'

const contactQuery = (id: number) =>
  queryOptions({
    queryKey: ['contact', id],
    queryFn: async ({ signal }) => (await api.getContact({ id }, { signal })).data,
  })

/** The customer, the number of the business, and the assignee. */
export function ContactPane({ record, onClose }: { record: Conversation; onClose: () => void }) {
  const { contact, sender } = record
  const { data, error, refetch } = useQuery({ ...contactQuery(contact.id), enabled: record.groupId === null })
  return (
    <aside className={css.pane} aria-label={text.contact.title}>
      <IconButton icon="close" label={text.close} className={css.close} onClick={onClose} />
      <div className={css.top}>
        <Avatar name={contact.name} seed={contact.id} size="large" />
        <h2 className={css.name}>
          <bdi>{nameOf(record)}</bdi>
        </h2>
      </div>
      <dl className={css.facts}>
        <Assignee record={record} />
        <Fact label={text.contact.number}>
          {sender.phoneName}
          <span className={css.soft}>{sender.phoneNumber}</span>
        </Fact>
        {record.groupId !== null && <Fact label={text.contact.title}>{text.contact.group}</Fact>}
        {data && <Facts contact={data} />}
      </dl>
      {record.groupId === null &&
        data === undefined &&
        (error ? <Failure error={error} retry={refetch} /> : <Skeleton />)}
    </aside>
  )
}

function Assignee({ record }: { record: Conversation }) {
  const { name: me } = useSession()
  const { change } = useChange(record)
  const isMine = record.assignee === me
  return (
    <Fact label={text.contact.assignee}>
      <span className={css.assignee}>
        <bdi>
          {record.assignee === null ? text.contact.notAssigned : isMine ? text.contact.mine(me) : record.assignee}
        </bdi>
        <Button onClick={() => change({ assignee: isMine ? null : me })}>
          {isMine ? text.contact.unassign : text.contact.assign}
        </Button>
      </span>
    </Fact>
  )
}

function Facts({ contact }: { contact: Contact }) {
  const fields = Object.entries(contact.custom_fields)
  const consent = (value: boolean | null) =>
    value === null ? (
      <span className={css.soft}>{text.contact.notKnown}</span>
    ) : (
      <Badge tone={value ? 'good' : 'bad'}>{value ? text.contact.yes : text.contact.no}</Badge>
    )
  return (
    <>
      {contact.phone !== null && (
        <Fact label={text.contact.phone}>
          <span className={css.copyable}>
            {text.phoneNumber(contact.phone)}
            <CopyButton value={contact.phone} label={text.contact.copyPhone} />
          </span>
        </Fact>
      )}
      {contact.email !== null && <Fact label={text.contact.email}>{contact.email}</Fact>}
      <Fact label={text.contact.whatsapp}>{consent(contact.marketing_consent.whatsapp)}</Fact>
      <Fact label={text.contact.emailConsent}>{consent(contact.marketing_consent.email)}</Fact>
      {contact.email_suppression && (
        <Fact label={text.contact.marketingEmail}>
          <Badge tone="bad">{text.contact.suppressed[contact.email_suppression.reason]}</Badge>
        </Fact>
      )}
      {contact.tags.length > 0 && (
        <Fact label={text.contact.tags}>
          <span className={css.tags}>
            {contact.tags.map((tag) => (
              <Badge key={tag}>{tag}</Badge>
            ))}
          </span>
        </Fact>
      )}
      {fields.map(([name, value]) => (
        <Fact key={name} label={name}>
          {typeof value === 'string' ? value : JSON.stringify(value)}
        </Fact>
      ))}
      <Fact label={text.contact.since}>
        <time dateTime={contact.created_at} title={utc(contact.created_at)}>
          {date(contact.created_at)}
        </time>
      </Fact>
    </>
  )
}

function Fact({ label, children }: { label: string; children: ReactNode }) {
  return (
    <div className={css.fact}>
      <dt>{label}</dt>
      <dd dir="auto">{children}</dd>
    </div>
  )
}
