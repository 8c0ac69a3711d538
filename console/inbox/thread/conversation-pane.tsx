import { useQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import type { Conversation } from '../../../client/src/generated/schemas.ts'
import { useKeys } from '../../keys.ts'
import { useInView } from '../../notifications/view.ts'
import { Button, IconButton } from '../../parts/button.tsx'
import { classes } from '../../parts/classes.ts'
import { Failure } from '../../parts/feedback/failure.tsx'
import { faultText } from '../../parts/feedback/failure-text.ts'
import pane from '../../parts/pane.module.css'
import { Menu, MenuChoice } from '../../parts/popups/menu.tsx'
import { useSession } from '../../shell/session-context.ts'
import { text } from '../../texts/text.ts'
import { Composer } from '../composer/composer.tsx'
import { Scheduled } from '../composer/scheduled/scheduled.tsx'
import { ContactPane } from '../contact-pane.tsx'
import { conversationQuery } from '../conversation-queries.ts'
import { nameOf } from '../list/conversation-row.tsx'
import { ConversationSkeleton } from '../list/conversation-skeleton.tsx'
import { useChange } from '../use-change.ts'
import { AssigneeMenu } from './assignee-menu.tsx'
import css from './conversation-pane.module.css'
import { MessageList } from './message-list.tsx'
import { useRead } from './use-read.ts'

/** One conversation: its state, its messages, the answer, and the contact. */
export function ConversationPane({ chatId }: { chatId: number }) {
  const { data: record, error, refetch } = useQuery(conversationQuery(chatId))
  const [areDetailsOpen, openDetails] = useState(false)
  const leave = useLeave()
  if (record === undefined) {
    if (error === null) return <ConversationSkeleton />
    return <Failure error={error} retry={refetch} missing={{ title: text.conversation.notFound, onBack: leave }} />
  }
  return (
    <div className={css.pane} data-details={areDetailsOpen}>
      <article className={classes(pane.pane, css.conversation)} aria-label={nameOf(record)}>
        <Head record={record} areDetailsOpen={areDetailsOpen} onDetails={() => openDetails(!areDetailsOpen)} />
        <MessageList record={record} />
        <Scheduled record={record} />
        <Composer record={record} />
      </article>
      <ContactPane record={record} onClose={() => openDetails(false)} />
    </div>
  )
}

/** Shows the list alone. */
function useLeave() {
  const navigate = useNavigate({ from: '/inbox/{-$chatId}' })
  return () => navigate({ params: { chatId: undefined }, search: (kept) => kept })
}

type HeadProps = { record: Conversation; areDetailsOpen: boolean; onDetails: () => void }

function Head({ record, areDetailsOpen, onDetails }: HeadProps) {
  const { name: me } = useSession()
  const leave = useLeave()
  const { change, error } = useChange(record)
  useInView(record.chatId)
  useRead(record, change)
  const toggle = (status: 'closed' | 'snoozed') => change({ status: record.status === status ? 'open' : status })
  useKeys({
    e: () => toggle('closed'),
    s: () => toggle('snoozed'),
    a: () => change({ assignee: record.assignee === me ? null : me }),
  })
  return (
    <header className={pane.head}>
      <IconButton icon="back" label={text.back} className={pane.back} onClick={leave} />
      <div className={pane.title}>
        <h2 className={pane.cut}>
          <bdi>{nameOf(record)}</bdi>
        </h2>
        <p className={classes(pane.about, pane.cut)}>{aboutOf(record)}</p>
      </div>
      {error && (
        <span role="alert" className={pane.fault}>
          {faultText(error)}
        </span>
      )}
      <AssigneeMenu record={record} onChoose={(assignee) => change({ assignee })} />
      <Menu
        align="end"
        trigger={
          <Button isMenu aria-label={`${text.conversation.status}: ${text.status[record.status]}`}>
            {text.status[record.status]}
          </Button>
        }
      >
        <MenuChoice
          label={text.conversation.status}
          value={record.status}
          choices={STATUSES}
          onChange={(status) => change({ status })}
        />
      </Menu>
      <IconButton
        icon="panel"
        label={text.conversation.details}
        className={css.details}
        aria-expanded={areDetailsOpen}
        onClick={onDetails}
      />
    </header>
  )
}

const STATUSES = [
  { value: 'open', label: text.status.open },
  { value: 'snoozed', label: text.status.snoozed },
  { value: 'closed', label: text.status.closed },
] as const

const aboutOf = ({ contact, sender, groupId }: Conversation): string =>
  [contact.name !== null && contact.phone !== null ? text.phoneNumber(contact.phone) : groupId, sender.phoneName]
    .filter((part) => part !== null && part !== '')
    .join(' · ')
