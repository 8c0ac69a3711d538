import { lazy, Suspense, useRef, useState } from 'react'
import type { Conversation } from '../../../client/src/generated/schemas.ts'
import { Button } from '../../parts/button.tsx'
import { useSession } from '../../shell/session-context.ts'
import { teamText } from '../../texts/team.ts'
import { text } from '../../texts/text.ts'
import css from './conversation-pane.module.css'

const AssigneePicker = lazy(async () => ({ default: (await import('../assignee-picker.tsx')).AssigneePicker }))

type Props = { record: Conversation; onChoose: (assignee: string | null) => void }

/** Who answers, and a menu that hands the conversation over. */
export function AssigneeMenu({ record: { assignee }, onChoose }: Props) {
  const { name: me } = useSession()
  const button = useRef<HTMLButtonElement>(null)
  const [isOpen, open] = useState(false)
  const name = assignee === me ? text.contact.mine(me) : assignee
  return (
    <>
      <Button
        ref={button}
        look={assignee === null ? 'quiet' : 'plain'}
        icon="person"
        isMenu
        className={css.assignee}
        aria-haspopup="dialog"
        aria-expanded={isOpen}
        aria-label={name === null ? teamText.assign : teamText.assignee(name)}
        onClick={() => open(!isOpen)}
      >
        {name ?? teamText.assign}
      </Button>
      <Suspense>
        {isOpen && (
          <AssigneePicker anchor={button} assignee={assignee} onChoose={onChoose} onClose={() => open(false)} />
        )}
      </Suspense>
    </>
  )
}
