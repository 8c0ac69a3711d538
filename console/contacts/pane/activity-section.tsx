import { useInfiniteQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import type { ContactActivity, Conversation, EmailStats } from '../../../client/src/generated/schemas.ts'
import { Button } from '../../parts/button.tsx'
import { Badge, type Tone } from '../../parts/feedback/badge.tsx'
import { Failure } from '../../parts/feedback/failure.tsx'
import { Skeleton } from '../../parts/lists/skeleton.tsx'
import { contactText } from '../../texts/contacts.ts'
import { moment, utc } from '../../texts/format.ts'
import { text } from '../../texts/text.ts'
import { activityQuery } from '../contact-queries.ts'
import css from './section.module.css'

const texts = contactText.activity
const TONES: Record<EmailStats['status'], Tone> = { pending: 'plain', sent: 'good', failed: 'bad', bounced: 'bad' }

/** The conversations and emails of a contact, newest first. */
export function ActivitySection({ id }: { id: number }) {
  const { data, error, refetch, hasNextPage, fetchNextPage, isFetchingNextPage } = useInfiniteQuery(activityQuery(id))
  const items = data?.pages.flatMap((page) => page.data) ?? []
  return (
    <section className={css.section} aria-label={texts.title}>
      <h3 className={css.title}>{texts.title}</h3>
      {data === undefined ? (
        error ? (
          <Failure error={error} retry={refetch} />
        ) : (
          <Skeleton rows={3} />
        )
      ) : items.length === 0 ? (
        <p className={css.soft}>{texts.none}</p>
      ) : (
        <ol className={css.list} aria-label={texts.title}>
          {items.map((item) => (
            <Item key={item.email?.id ?? `chat ${item.conversation?.chatId}`} item={item} />
          ))}
        </ol>
      )}
      {hasNextPage && (
        <Button className={css.more} isBusy={isFetchingNextPage} onClick={() => fetchNextPage()}>
          {texts.older}
        </Button>
      )}
    </section>
  )
}

function Item({ item: { at, conversation, email } }: { item: ContactActivity }) {
  return (
    <li className={css.item}>
      <span className={css.line}>
        {conversation && <ConversationLink conversation={conversation} />}
        {email && <span>{texts.email}</span>}
        <time dateTime={at} title={utc(at)} className={css.when}>
          {moment(at)}
        </time>
      </span>
      {conversation && <LastMessage conversation={conversation} />}
      {email && <Email email={email} />}
    </li>
  )
}

function ConversationLink({ conversation: { chatId, sender } }: { conversation: Conversation }) {
  return (
    <Link to="/inbox/{-$chatId}" params={{ chatId: String(chatId) }} className={css.link ?? ''}>
      {texts.conversation(sender.phoneNumber)}
    </Link>
  )
}

function LastMessage({ conversation: { lastMessage } }: { conversation: Conversation }) {
  if (lastMessage === null) return <span className={css.words}>{texts.noMessages}</span>
  return (
    <span className={css.words} dir="auto">
      {lastMessage.direction === 'outbound' && `${text.inbox.you}: `}
      {lastMessage.text}
    </span>
  )
}

function Email({ email: { subject, status, opened, clickCount, failureReason, complainedAt } }: { email: EmailStats }) {
  const facts = [
    ...(opened ? [texts.opened] : []),
    ...(clickCount > 0 ? [texts.clicks(clickCount)] : []),
    ...(complainedAt === null ? [] : [texts.complained]),
    ...(failureReason === null ? [] : [failureReason]),
  ]
  return (
    <>
      <span className={css.words} dir="auto">
        {subject}
      </span>
      <span className={css.tags}>
        <Badge tone={TONES[status]}>{texts.states[status]}</Badge>
        <span className={css.soft}>{facts.join(', ')}</span>
      </span>
    </>
  )
}
