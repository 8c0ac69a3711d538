import { useQuery } from '@tanstack/react-query'
import { useEffect, useRef } from 'react'
import type { Contact } from '../../../client/src/generated/schemas.ts'
import { Avatar } from '../../parts/avatar.tsx'
import { IconButton } from '../../parts/button.tsx'
import { Badge } from '../../parts/feedback/badge.tsx'
import { Failure } from '../../parts/feedback/failure.tsx'
import { Skeleton } from '../../parts/lists/skeleton.tsx'
import pane from '../../parts/pane.module.css'
import { contactText } from '../../texts/contacts.ts'
import { date, utc } from '../../texts/format.ts'
import { text } from '../../texts/text.ts'
import { contactQuery, nameOf } from '../contact-queries.ts'
import { titleOf, useLeave } from '../contact-title.ts'
import { ActivitySection } from './activity-section.tsx'
import { ConsentSection } from './consent-section.tsx'
import { ContactMenu } from './contact-menu.tsx'
import css from './contact-pane.module.css'
import { FieldsSection } from './fields-section.tsx'

/** One contact: its fields, its consent and what happened with it. */
export function ContactPane({ id }: { id: number }) {
  const { data: contact, error, refetch } = useQuery(contactQuery(id))
  const leave = useLeave()
  if (contact === undefined) {
    if (error === null) return <Skeleton rows={6} />
    return <Failure error={error} retry={refetch} missing={{ title: contactText.record.notFound, onBack: leave }} />
  }
  return (
    <article className={pane.pane} aria-label={titleOf(contact)}>
      <Head contact={contact} />
      <div className={css.body}>
        <FieldsSection contact={contact} />
        <div className={css.side}>
          <ConsentSection contact={contact} />
          <ActivitySection id={id} />
        </div>
      </div>
    </article>
  )
}

function Head({ contact }: { contact: Contact }) {
  const { id, status, source, created_at } = contact
  const leave = useLeave()
  const heading = useRef<HTMLHeadingElement>(null)
  // The rows of the list stand before this record, which takes their place.
  useEffect(() => heading.current?.focus(), [])
  return (
    <header className={pane.head}>
      <IconButton icon="back" label={text.back} onClick={leave} />
      <Avatar name={nameOf(contact)} seed={id} />
      <div className={pane.title}>
        <h2 ref={heading} tabIndex={-1} className={css.name}>
          <bdi>{titleOf(contact)}</bdi>
          <Badge tone={status === 'active' ? 'good' : 'warn'}>{status}</Badge>
        </h2>
        <p className={pane.about}>
          {contactText.record.id(id)} · {contactText.record.source(source)} ·{' '}
          <time dateTime={created_at} title={utc(created_at)}>
            {contactText.record.created(date(created_at))}
          </time>
        </p>
      </div>
      <ContactMenu contact={contact} />
    </header>
  )
}
