import { useNavigate, useParams, useSearch } from '@tanstack/react-router'
import { lazy, Suspense, useEffect, useMemo } from 'react'
import { useKeys } from '../keys.ts'
import { classes } from '../parts/classes.ts'
import { Choose } from '../parts/feedback/empty.tsx'
import { focusRow } from '../parts/lists/focus-row.ts'
import pane from '../parts/pane.module.css'
import { Screen } from '../shell/screen.tsx'
import { useSession } from '../shell/session-context.ts'
import { text } from '../texts/text.ts'
import { enqueue } from './composer/files/send-files.ts'
import { resumeOutbox } from './composer/outbox.ts'
import { filterOf } from './conversation-queries.ts'
import { ConversationList } from './list/conversation-list.tsx'
import { ConversationSkeleton } from './list/conversation-skeleton.tsx'
import { Filters } from './list/filters.tsx'

/** The list does not wait for the pane, which is loaded at once after it. */
const loadPane = () => import('./thread/conversation-pane.tsx')
const ConversationPane = lazy(() => loadPane().then(({ ConversationPane: component }) => ({ default: component })))

/** The list of conversations, and beside it the one that is open. */
export function Inbox() {
  const { chatId } = useParams({ from: '/inbox/{-$chatId}' })
  const search = useSearch({ from: '/inbox/{-$chatId}' })
  const { name } = useSession()
  const navigate = useNavigate({ from: '/inbox/{-$chatId}' })
  const filter = useMemo(() => filterOf(search, name), [search, name])
  const isOpen = chatId !== undefined
  useEffect(() => {
    resumeOutbox(enqueue)
    void loadPane()
  }, [])
  useKeys({
    j: () => focusRow('[data-chat]', 1),
    k: () => focusRow('[data-chat]', -1),
    u: () => navigate({ to: '/inbox/{-$chatId}', params: { chatId: undefined }, search: (kept) => kept }),
  })
  return (
    <Screen title={text.inbox.title} part="conversations">
      <div className={pane.split} data-open={isOpen}>
        <section className={classes(pane.pane, pane.side)} aria-label={text.inbox.list}>
          <Filters search={search} />
          <ConversationList filter={filter} />
        </section>
        <div className={pane.main}>
          {isOpen ? (
            <Suspense fallback={<ConversationSkeleton />}>
              <ConversationPane key={chatId} chatId={Number(chatId)} />
            </Suspense>
          ) : (
            <Choose icon="inbox" title={text.inbox.choose} text={text.inbox.chooseText} />
          )}
        </div>
      </div>
    </Screen>
  )
}
