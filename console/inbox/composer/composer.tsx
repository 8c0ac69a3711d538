import { useQueryClient } from '@tanstack/react-query'
import { type KeyboardEvent, lazy, Suspense, useEffect, useRef, useState } from 'react'
import type { Conversation } from '../../../client/src/generated/schemas.ts'
import { api } from '../../client.ts'
import { useKeys } from '../../keys.ts'
import { Button } from '../../parts/button.tsx'
import { Icon } from '../../parts/icon.tsx'
import { useSession } from '../../shell/session-context.ts'
import { text } from '../../texts/text.ts'
import { nameOf } from '../list/conversation-row.tsx'
import { inOrder, messagesQuery } from '../message-queries.ts'
import { useWindow, type WindowState } from '../thread/window.ts'
import css from './composer.module.css'
import { ANSWER_FIELD, useDraft } from './draft.ts'
import { isSendKey, isTouch, useEnterKey } from './enter-key.ts'
import { sendMessage } from './outbox.ts'

const MAX_CHARACTERS = 4_096
const ANSWERING_EVERY_MS = 3_000

const TemplatePicker = lazy(() =>
  import('./template-picker.tsx').then(({ TemplatePicker: component }) => ({ default: component })),
)

/** The answer. It says before sending what may be sent: text while the window is open, else a template. */
export function Composer({ record }: { record: Conversation }) {
  const window = useWindow(record, useSession().features.sessionWindow)
  const [isPicking, pick] = useState(false)
  useKeys({ t: () => pick(true) })
  return (
    <footer className={css.composer}>
      <WindowLine window={window} />
      {window.state === 'closed' ? (
        <div className={css.closed}>
          <p>{text.composer.closedText}</p>
          <Button look="primary" icon="template" onClick={() => pick(true)}>
            {text.composer.chooseTemplate}
          </Button>
        </div>
      ) : (
        <Writer record={record} onTemplate={() => pick(true)} />
      )}
      {isPicking && (
        <Suspense>
          <TemplatePicker record={record} onClose={() => pick(false)} />
        </Suspense>
      )}
    </footer>
  )
}

function WindowLine({ window }: { window: WindowState }) {
  if (window.state === 'ignored') return null
  if (window.state === 'closed') {
    return (
      <p className={css.window} data-state="closed">
        <Icon name="lock" size={14} />
        {window.isNever ? text.composer.windowNever : text.composer.windowClosed}
      </p>
    )
  }
  return (
    <p className={css.window} data-state={window.isShort ? 'short' : 'open'}>
      <Icon name="clock" size={14} />
      {text.composer.windowOpen(window.leftMs)}
    </p>
  )
}

function Writer({ record, onTemplate }: { record: Conversation; onTemplate: () => void }) {
  const { chatId } = record
  const client = useQueryClient()
  const [draft, write, clear] = useDraft(chatId)
  const field = useRef<HTMLTextAreaElement>(null)
  const enter = useEnterKey()
  const tellAnswering = useAnsweringSignal(chatId)
  const over = draft.text.length - MAX_CHARACTERS
  const canSend = draft.text.trim() !== '' && over <= 0
  useKeys({ r: () => field.current?.focus() })

  const send = () => {
    if (!canSend) return
    const afterId = inOrder(client.getQueryData(messagesQuery(chatId).queryKey)).at(-1)?.id ?? 0
    const shownText = draft.text.trim()
    sendMessage({ key: draft.key, chatId, content: { type: 'text', text: shownText }, shownText, afterId })
    clear()
    field.current?.focus()
  }
  const press = (event: KeyboardEvent) => {
    if (event.key === 'Escape') field.current?.blur()
    if (!isSendKey(event)) return
    event.preventDefault()
    send()
  }
  return (
    <div className={css.writer}>
      <textarea
        ref={field}
        id={ANSWER_FIELD}
        className={css.field}
        aria-label={text.composer.label(nameOf(record))}
        aria-invalid={over > 0 || undefined}
        placeholder={text.composer.placeholder}
        dir="auto"
        rows={1}
        value={draft.text}
        onChange={(event) => {
          write(event.target.value)
          tellAnswering()
        }}
        onKeyDown={press}
      />
      <div className={css.actions}>
        {over > 0 && (
          <span className={css.over} role="alert">
            {text.composer.tooLong(over)}
          </span>
        )}
        <Button look="quiet" icon="template" onClick={onTemplate}>
          {text.composer.template}
        </Button>
        <Button
          look="primary"
          icon="send"
          disabled={!canSend}
          onClick={send}
          title={enter === 'send' && !isTouch() ? 'Enter' : 'Ctrl Enter'}
        >
          {text.composer.send}
        </Button>
      </div>
    </div>
  )
}

/** Tells the other agents, at most every 3 s, that this agent is answering. */
function useAnsweringSignal(chatId: number): () => void {
  const nextAt = useRef(0)
  useEffect(() => {
    nextAt.current = chatId && 0
  }, [chatId])
  return () => {
    const now = performance.now()
    if (now < nextAt.current) return
    nextAt.current = now + ANSWERING_EVERY_MS
    // A hint to others: when it is lost, nothing is.
    api.showAnswering({ chatId }).catch(() => {})
  }
}
