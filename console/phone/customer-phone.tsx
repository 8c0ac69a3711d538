import { type FormEvent, useEffect, useRef, useState } from 'react'
import { IconButton } from '../parts/button.tsx'
import { classes } from '../parts/classes.ts'
import { Icon } from '../parts/icon.tsx'
import { time, utc } from '../texts/format.ts'
import { text } from '../texts/text.ts'
import css from './customer-phone.module.css'
import { callSandbox, useSandbox } from './sandbox-stream.ts'

/** The demo's customer and number, as the sandbox knows them. */
const CUSTOMER = { from: '393331234567', name: 'Ada' }
const NUMBER_ID = '100000000000001'

type Line = { wamid: string; isMine: boolean; text: string; at: string; status: string | null }

/** The customer's phone: what is written on it reaches the service as the provider would post it. */
export function CustomerPhone() {
  const lines = useSandbox<Line[]>(`phone=${CUSTOMER.from}`, 'chat')
  useRead(lines)
  return (
    <main className={css.phone}>
      <header className={css.head}>
        <h1 className={css.title}>{text.phone.frame}</h1>
      </header>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: the region scrolls, so the keyboard must reach it */}
      <section className={css.chat} aria-label={text.phone.chat} tabIndex={0}>
        <ol className={css.lines} aria-live="polite">
          {lines?.length === 0 && <li className={css.hint}>{text.phone.empty}</li>}
          {lines?.map((line) => (
            <Bubble key={line.wamid} line={line} />
          ))}
        </ol>
      </section>
      <Writer />
    </main>
  )
}

function Bubble({ line: { isMine, text: content, at } }: { line: Line }) {
  return (
    <li className={classes(css.line, isMine && css.mine)}>
      <span className={css.bubble}>
        <span className={css.text} dir="auto">
          {content}
        </span>
        <span className={css.meta}>
          <time dateTime={at} title={utc(at)}>
            {time(at)}
          </time>
          {isMine && <Icon name="check" size={12} />}
        </span>
      </span>
    </li>
  )
}

function Writer() {
  const [draft, setDraft] = useState('')
  const [isLost, setLost] = useState(false)
  const field = useRef<HTMLInputElement>(null)
  const send = async (event: FormEvent) => {
    event.preventDefault()
    const body = draft.trim()
    if (body === '') return
    setDraft('')
    field.current?.focus()
    const line = { phoneNumberId: NUMBER_ID, ...CUSTOMER, type: 'text', text: { body } }
    setLost(!(await callSandbox('POST', 'inbound', line)))
  }
  return (
    <form className={css.writer} onSubmit={send}>
      {isLost && (
        <p role="alert" className={css.lost}>
          {text.phone.notSent}
        </p>
      )}
      <input
        ref={field}
        className={css.field}
        aria-label={text.phone.write}
        placeholder={text.phone.write}
        autoComplete="off"
        dir="auto"
        maxLength={4096}
        value={draft}
        onChange={({ target }) => setDraft(target.value)}
      />
      <IconButton type="submit" icon="send" label={text.phone.send} className={css.send} />
    </form>
  )
}

/** Marks messages that are in view as read. */
function useRead(lines: Line[] | undefined): void {
  const reported = useRef(new Set<string>())
  useEffect(() => {
    if (document.visibilityState !== 'visible') return
    for (const { wamid, isMine, status } of lines ?? []) {
      if (isMine || status !== 'delivered' || reported.current.has(wamid)) continue
      reported.current.add(wamid)
      void callSandbox('POST', 'status', { wamid, status: 'read' })
    }
  }, [lines])
}
