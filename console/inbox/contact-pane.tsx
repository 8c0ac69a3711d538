import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import type { Contact, Conversation } from '../../client/src/generated/schemas.ts'
import { hasValue, shownFields } from '../contacts/contact-fields.ts'
import { contactQuery } from '../contacts/contact-queries.ts'
import { FieldValue } from '../contacts/field-value.tsx'
import { fieldsQuery } from '../fields/field-queries.ts'
import { Avatar } from '../parts/avatar.tsx'
import { Button, IconButton } from '../parts/button.tsx'
import { Badge } from '../parts/feedback/badge.tsx'
import { Failure } from '../parts/feedback/failure.tsx'
import { CopyButton } from '../parts/json/copy-button.tsx'
import { Skeleton } from '../parts/lists/skeleton.tsx'
import { useSession } from '../shell/session-context.ts'
import { date, utc } from '../texts/format.ts'
import { text } from '../texts/text.ts'
import css from './contact-pane.module.css'
import { ReferralCard } from './content/referral-card.tsx'
import { nameOf } from './list/conversation-row.tsx'
import { useChange } from './use-change.ts'

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
        {record.referral !== null && (
          <Fact label={text.contact.cameFrom}>
            <ReferralCard referral={record.referral} />
          </Fact>
        )}
        {record.groupId !== null && <Fact label={text.contact.title}>{text.contact.group}</Fact>}
        {data && <Facts contact={data} />}
      </dl>
      {data && (
        <Link to="/contacts/{-$id}" params={{ id: String(data.id) }} className={css.link ?? ''}>
          {text.contact.open}
        </Link>
      )}
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
      <CustomFacts values={contact.custom_fields} />
      <Fact label={text.contact.since}>
        <time dateTime={contact.created_at} title={utc(contact.created_at)}>
          {date(contact.created_at)}
        </time>
      </Fact>
    </>
  )
}

/** The custom fields that have a value, in the order of their definitions. */
function CustomFacts({ values }: { values: Contact['custom_fields'] }) {
  const { data: definitions, isPending } = useQuery(fieldsQuery)
  if (isPending) return null
  const { groups, retired, others } = shownFields(values, definitions ?? [])
  const fields = [...[...groups.values()].flat(), ...others, ...retired].filter(({ key }) => hasValue(values[key]))
  return fields.map(({ key, displayName, type }) => (
    <Fact key={key} label={displayName}>
      <FieldValue type={type} value={values[key]} />
    </Fact>
  ))
}

function Fact({ label, children }: { label: string; children: ReactNode }) {
  return (
    <div className={css.fact}>
      <dt>{label}</dt>
      <dd dir="auto">{children}</dd>
    </div>
  )
}
