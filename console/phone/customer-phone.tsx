import { type FormEvent, Fragment, useEffect, useRef, useState } from 'react'
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

type Offer = {
  label: string
  description: string | null
  section: string | null
  /** The message with which the customer answers; without it `url` is opened. */
  answer?: object
  url?: string
}
type Line = {
  wamid: string
  phoneNumberId: string
  isMine: boolean
  header: string | null
  text: string
  footer: string | null
  quoted: string | null
  reaction: string | null
  at: string
  status: string | null
  /** The text of the button that opens the offers; null: they are shown. */
  menu: string | null
  offers: Offer[]
}

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

function Bubble({ line }: { line: Line }) {
  const { isMine, header, text: content, footer, quoted, reaction, at } = line
  return (
    <li className={classes(css.line, isMine && css.mine)}>
      <div className={css.bubble}>
        {quoted !== null && (
          <blockquote className={css.quoted} dir="auto">
            {quoted}
          </blockquote>
        )}
        {header !== null && (
          <strong className={css.header} dir="auto">
            {header}
          </strong>
        )}
        <span className={css.text} dir="auto">
          {content}
        </span>
        {footer !== null && (
          <span className={css.footer} dir="auto">
            {footer}
          </span>
        )}
        <span className={css.meta}>
          {reaction !== null && <span>{reaction}</span>}
          <time dateTime={at} title={utc(at)}>
            {time(at)}
          </time>
          {isMine && <Icon name="check" size={12} />}
        </span>
        <Offers line={line} />
      </div>
    </li>
  )
}

/** The offers of a message, for the customer to tap. */
function Offers({ line }: { line: Line }) {
  const { offers, menu } = line
  const [isOpen, setOpen] = useState(false)
  const [isLost, setLost] = useState(false)
  if (offers.length === 0) return null
  const choose = async ({ answer }: Offer) => {
    setOpen(false)
    const message = { phoneNumberId: line.phoneNumberId, ...CUSTOMER, ...answer }
    setLost(!(await callSandbox('POST', 'inbound', message)))
  }
  return (
    <div className={css.offers}>
      {menu !== null && (
        <button type="button" className={css.offer} aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
          <Icon name="more" />
          <bdi>{menu}</bdi>
        </button>
      )}
      {(menu === null || isOpen) &&
        offers.map((offer, place) => (
          <Fragment key={JSON.stringify(offer)}>
            {offer.section !== null && offer.section !== offers[place - 1]?.section && (
              <p className={css.section} dir="auto">
                {offer.section}
              </p>
            )}
            <OfferButton offer={offer} onChoose={() => choose(offer)} />
          </Fragment>
        ))}
      {isLost && (
        <p role="alert" className={css.lost}>
          {text.phone.notSent}
        </p>
      )}
    </div>
  )
}

function OfferButton({ offer: { label, description, url }, onChoose }: { offer: Offer; onChoose: () => void }) {
  if (url !== undefined)
    return (
      <a className={css.offer} href={url} target="_blank" rel="noreferrer">
        <Icon name="external" />
        <bdi>{label}</bdi>
      </a>
    )
  return (
    <button type="button" className={css.offer} onClick={onChoose}>
      <bdi>{label}</bdi>
      {description !== null && (
        <span className={css.description} dir="auto">
          {description}
        </span>
      )}
    </button>
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
