import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { api } from '../client.ts'
import { Composer } from '../inbox/composer.tsx'
import { nameOf } from '../inbox/conversation-row.tsx'
import { MessageList } from '../inbox/message-list.tsx'
import { Empty } from '../parts/empty.tsx'
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
    <Screen title={text.phone.title} permission="WhatsApp" neededRole="agent">
      {sandboxUrl === null ? (
        <Empty icon="phone" title={text.phone.off} text={text.phone.offText} />
      ) : (
        <div className={css.phone}>
          <iframe className={css.frame} title={text.phone.frame} src={`${sandboxUrl}/phone.html#phone`} />
          <Business />
          <iframe className={css.frame} title={text.phone.receiverFrame} src={`${sandboxUrl}/phone.html#receiver`} />
        </div>
      )}
    </Screen>
  )
}

/** The customer's newest conversation. Its key starts like those of the lists, so that live events refresh it. */
function Business() {
  const { data: record } = useQuery({
    queryKey: ['conversation-pages', 'phone'],
    queryFn: ({ signal }) => api.listConversations({ pageSize: 100 }, { signal }),
    select: ({ data }) => data.find(({ contact }) => contact.phone === CUSTOMER),
    refetchInterval: ({ state }) =>
      state.data?.data.some(({ contact }) => contact.phone === CUSTOMER) ? false : 1_000,
  })
  return (
    <section className={css.business} aria-label={text.phone.business}>
      <header className={css.head}>
        <h2 className={css.title}>{text.phone.business}</h2>
        {record && (
          <Link to="/inbox/{-$chatId}" params={{ chatId: String(record.chatId) }} className={css.link ?? ''}>
            {text.phone.openInbox}
          </Link>
        )}
      </header>
      {record ? (
        <article className={css.conversation} aria-label={nameOf(record)}>
          <MessageList record={record} />
          <Composer record={record} />
        </article>
      ) : (
        <Empty icon="phone" title={text.phone.waiting} text={text.phone.waitingText} />
      )}
    </section>
  )
}
