import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import type { Conversation } from '../../client/src/generated/schemas.ts'
import { Composer } from '../inbox/composer/composer.tsx'
import { type ConversationPages, conversationQuery, filteredQuery } from '../inbox/conversation-queries.ts'
import { nameOf } from '../inbox/list/conversation-row.tsx'
import { MessageList } from '../inbox/thread/message-list.tsx'
import { classes } from '../parts/classes.ts'
import { Empty } from '../parts/feedback/empty.tsx'
import pane from '../parts/pane.module.css'
import { Screen } from '../shell/screen.tsx'
import { useSession } from '../shell/session-context.ts'
import { text } from '../texts/text.ts'
import css from './phone-screen.module.css'

/** The customer of the phone: the demo's own (`npm start` prints lines about the same number). */
const CUSTOMER = '393331234567'

/**
 * The sandbox's phone, what the business sees, and what the receiver got. The outer panes are pages of the sandbox in
 * frames, so that no code of the product plays the customer.
 */
export function PhoneScreen() {
  const { sandboxUrl } = useSession().features
  return (
    <Screen title={text.phone.title} part="conversations">
      {sandboxUrl === null ? (
        <Empty icon="phone" title={text.phone.off} text={text.phone.offText} />
      ) : (
        // On a small window the panes are one below the other, and the keyboard scrolls them.
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls takes the focus
        <section className={css.phone} aria-label={text.phone.panes} tabIndex={0}>
          <iframe className={css.frame} title={text.phone.frame} src={`${sandboxUrl}/phone.html#phone`} />
          <Business />
          <iframe className={css.frame} title={text.phone.receiverFrame} src={`${sandboxUrl}/phone.html#receiver`} />
        </section>
      )}
    </Screen>
  )
}

function Business() {
  const record = useConversationOf(CUSTOMER)
  return (
    <section className={classes(pane.pane, css.business)} aria-label={text.phone.business}>
      <header className={pane.head}>
        <h2 className={classes(pane.title, pane.cut)}>{text.phone.business}</h2>
        {record && (
          <Link to="/inbox/{-$chatId}" params={{ chatId: String(record.chatId) }} className={css.link ?? ''}>
            {text.phone.openInbox}
          </Link>
        )}
      </header>
      {record ? (
        <article className={classes(pane.pane, css.conversation)} aria-label={nameOf(record)}>
          <MessageList record={record} />
          <Composer record={record} />
        </article>
      ) : (
        <Empty icon="phone" title={text.phone.waiting} text={text.phone.waitingText} />
      )}
    </section>
  )
}

/** The newest conversation of a phone number. It is searched for until it exists: live events repeat the search. */
function useConversationOf(phone: string): Conversation | undefined {
  const isOfPhone = ({ contact }: Conversation) => contact.phone === phone
  const foundIn = (lists?: ConversationPages) => lists?.pages.flatMap(({ data }) => data).find(isOfPhone)
  const { data: lists } = useInfiniteQuery({
    ...filteredQuery({ search: phone }),
    enabled: ({ state }) => foundIn(state.data) === undefined,
  })
  const found = foundIn(lists)
  const { data: record } = useQuery({ ...conversationQuery(found?.chatId ?? 0), enabled: found !== undefined })
  return record ?? found
}
