import { useState } from 'react'
import type { Message, MessageContent, StructuredContent } from '../../../client/src/generated/schemas.ts'
import { Button } from '../../parts/button.tsx'
import { text } from '../../texts/text.ts'
import { newKey, restoreDraft } from '../composer/draft.ts'
import { sendMessage } from '../composer/outbox.ts'
import css from './bubble.module.css'

type Props = { message: Message; chatId: number; newestId: number }

/**
 * The actions of an agent for a message that failed: send its content again with a new key, or change its text first. The key
 * is made once, so two presses send one message.
 */
export function FailedActions({ message, chatId, newestId }: Props) {
  const [key] = useState(newKey)
  const [isSent, setSent] = useState(false)
  const content = contentOf(message)
  if (content === undefined || isSent) return null
  const sendAgain = () => {
    sendMessage({ key, chatId, content, shownText: message.text ?? '', afterId: newestId })
    setSent(true)
  }
  return (
    <div className={css.actions}>
      <Button look="quiet" icon="refresh" onClick={sendAgain}>
        {text.composer.sendAgain}
      </Button>
      {content.type === 'text' && (
        <Button look="quiet" icon="edit" onClick={() => restoreDraft(chatId, content.text ?? '')}>
          {text.composer.edit}
        </Button>
      )}
    </div>
  )
}

/** The content of a message as a send takes it; undefined for templates and files, whose records do not have all of it. */
function contentOf({ kind, text: shown, content, quotedMessageId }: Message): MessageContent | undefined {
  const answered = quotedMessageId === null ? {} : { quoted: quotedMessageId }
  if (kind === 'text' && shown !== null) return { type: 'text', text: shown, ...answered }
  switch (content?.type) {
    case 'interactive':
    case 'location':
    case 'contacts':
      return { ...toSend(content), ...answered }
    default:
      return undefined
  }
}

/** The service keeps this content as it was sent. */
const toSend = (content: StructuredContent): MessageContent => Object(content)
