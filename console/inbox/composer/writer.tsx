import { useQueryClient } from '@tanstack/react-query'
import { type ClipboardEvent, type KeyboardEvent, lazy, Suspense, useEffect, useRef } from 'react'
import type { Conversation } from '../../../client/src/generated/schemas.ts'
import { useKeys } from '../../keys.ts'
import { Button, IconButton } from '../../parts/button.tsx'
import { fileText } from '../../texts/files.ts'
import { teamText } from '../../texts/team.ts'
import { text } from '../../texts/text.ts'
import { nameOf } from '../list/conversation-row.tsx'
import { inOrder, messagesQuery } from '../message-queries.ts'
import { ANSWER_FIELD, useDraft } from './draft.ts'
import { isSendKey, isTouch, useEnterKey } from './enter-key.ts'
import { AttachButton } from './files/attach-button.tsx'
import { attach, loadAttached, useAttached } from './files/attached.ts'
import { DropZone } from './files/drop-zone.tsx'
import { faultOf, MAX_CAPTION_CHARACTERS } from './files/file-limits.ts'
import { sendFiles } from './files/send-files.ts'
import { sendMessage, useOutgoing } from './outbox.ts'
import { useQuickReplies } from './quick-replies/quick-replies.ts'
import { QuickReplyList } from './quick-replies/quick-reply-list.tsx'
import { LaterButton } from './scheduled/later-button.tsx'
import { useAnsweringSignals } from './signals.ts'
import css from './writer.module.css'

const MAX_CHARACTERS = 4_096

const FileTray = lazy(async () => ({ default: (await import('./files/file-tray.tsx')).FileTray }))

type Props = { record: Conversation; onTemplate: () => void }

/** The text and the files of an answer. */
export function Writer({ record, onTemplate }: Props) {
  const { chatId } = record
  const field = useRef<HTMLTextAreaElement>(null)
  const answer = useAnswer(chatId)
  const { draft, files, over } = answer
  const signals = useAnsweringSignals(record)
  const replies = useQuickReplies(draft.text, record.contact.name, answer.write)
  useKeys({ r: () => field.current?.focus() })

  const send = (sendAt?: string) => {
    if (!answer.canSend) return
    answer.send(sendAt)
    signals.sent()
    field.current?.focus()
  }
  const press = (event: KeyboardEvent) => {
    if (replies.press(event)) return
    if (event.key === 'Escape') {
      if (replies.isOpen) return replies.dismiss()
      field.current?.blur()
    }
    if (!isSendKey(event)) return
    event.preventDefault()
    send()
  }
  const take = (chosen: Iterable<File>) => {
    attach(chatId, chosen, files.length)
    field.current?.focus()
  }
  const paste = (event: ClipboardEvent) => {
    const { files: pasted, types } = event.clipboardData
    // Office programs add a picture of the text.
    if (pasted.length === 0 || types.includes('text/plain')) return
    event.preventDefault()
    take(pasted)
  }
  const ask = () => {
    replies.ask()
    field.current?.focus()
  }
  return (
    <div className={css.writer}>
      <DropZone inside={field} onDrop={take} />
      {files.length > 0 && (
        <Suspense>
          <FileTray files={files} />
        </Suspense>
      )}
      {replies.isOpen && <QuickReplyList replies={replies} />}
      <textarea
        {...(replies.isOpen && replies.control)}
        ref={field}
        id={ANSWER_FIELD}
        className={css.field}
        aria-label={text.composer.label(nameOf(record))}
        aria-invalid={over > 0 || undefined}
        placeholder={files.length > 0 ? fileText.caption : text.composer.placeholder}
        dir="auto"
        rows={1}
        value={draft.text}
        onChange={(event) => {
          answer.write(event.target.value)
          signals.typed(event.target.value)
        }}
        onKeyDown={press}
        onPaste={paste}
      />
      <div className={css.actions}>
        <AttachButton onChoose={take} />
        <IconButton icon="bolt" label={teamText.insert} onClick={ask} />
        <span className={css.over} role="alert">
          {over > 0 && (files.length > 0 ? fileText.captionTooLong(over) : text.composer.tooLong(over))}
        </span>
        <Button
          look="quiet"
          icon="template"
          className={css.template}
          aria-label={text.composer.template}
          onClick={onTemplate}
        >
          {text.composer.template}
        </Button>
        <LaterButton record={record} disabled={!answer.canSend} onChoose={send} />
        <SendButton disabled={!answer.canSend} onClick={() => send()} />
      </div>
    </div>
  )
}

function SendButton(props: { disabled: boolean; onClick: () => void }) {
  const enter = useEnterKey()
  return (
    <Button {...props} look="primary" icon="send" title={enter === 'send' && !isTouch() ? 'Enter' : 'Ctrl Enter'}>
      {text.composer.send}
    </Button>
  )
}

/** What is being written, and how it is sent. */
function useAnswer(chatId: number) {
  const client = useQueryClient()
  const [draft, write, clear] = useDraft(chatId)
  const outgoing = useOutgoing()
  const attached = useAttached()
  const files = attached.filter((one) => one.chatId === chatId && !outgoing.some(({ key }) => key === one.key))
  const over = draft.text.length - (files.length > 0 ? MAX_CAPTION_CHARACTERS : MAX_CHARACTERS)
  const hasContent = files.length > 0 || draft.text.trim() !== ''
  const canSend = hasContent && over <= 0 && files.every(({ file }) => faultOf(file) === undefined)
  useEffect(() => {
    void loadAttached()
  }, [])
  const send = (sendAt?: string) => {
    const later = sendAt === undefined ? {} : { sendAt }
    const afterId = inOrder(client.getQueryData(messagesQuery(chatId).queryKey)).at(-1)?.id ?? 0
    const shownText = draft.text.trim()
    if (files.length > 0) sendFiles({ chatId, files, caption: shownText, afterId, ...later })
    else {
      const content = { type: 'text', text: shownText, ...later } as const
      void sendMessage({ key: draft.key, chatId, content, shownText, afterId })
    }
    clear()
  }
  return { draft, write, files, over, canSend, send }
}
