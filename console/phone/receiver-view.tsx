import { useState } from 'react'
import { classes } from '../parts/classes.ts'
import { Badge } from '../parts/feedback/badge.tsx'
import { Empty } from '../parts/feedback/empty.tsx'
import { Icon } from '../parts/icon.tsx'
import { JsonView } from '../parts/json/json-view.tsx'
import pane from '../parts/pane.module.css'
import { Tabs } from '../parts/tabs.tsx'
import { timeWithSeconds, utc } from '../texts/format.ts'
import { text } from '../texts/text.ts'
import css from './receiver-view.module.css'
import { callSandbox, useSandbox } from './sandbox-stream.ts'

const RECEIVER = 'demo'

type Signature = { header: string; value: string; isValid: boolean | null } | null
type Request = { method: string; headers: Record<string, string>; body: string; at: string; signature: Signature }
type Received = { statusCode: number; requests: Request[] }

const ANSWERS = [
  { value: '200', label: '200' },
  { value: '404', label: '404' },
  { value: '500', label: '500' },
] as const

/** The requests of the demo's receiver, each with its signature checked, and the choice how it answers from now on. */
export function ReceiverView() {
  const received = useSandbox<Received>(`receiver=${RECEIVER}`, 'requests')
  const [chosen, choose] = useState<string>()
  const { statusCode = 200, requests = [] } = received ?? {}
  const shown = requests.find(({ at }) => at === chosen) ?? requests[0]
  const answer = (status: string) =>
    callSandbox('PUT', `receivers/${RECEIVER}/behaviour`, { statusCode: Number(status) })
  return (
    <main className={classes(pane.pane, css.view)}>
      <header className={pane.head}>
        <h1 className={pane.title}>{text.phone.received}</h1>
        <span className={css.answers}>
          <span aria-hidden="true">{text.phone.answers}</span>
          <Tabs
            label={text.phone.answers}
            value={ANSWERS.find(({ value }) => value === String(statusCode))?.value ?? '200'}
            choices={ANSWERS}
            onChange={answer}
          />
        </span>
      </header>
      {shown === undefined ? (
        received && <Empty icon="receivers" title={text.phone.nothing} text={text.phone.nothingText} />
      ) : (
        <>
          <ol className={css.requests} aria-label={text.phone.received}>
            {requests.map((request) => (
              <li key={request.at + request.headers['x-service-delivery']}>
                <button
                  type="button"
                  className={css.request}
                  aria-pressed={request === shown}
                  onClick={() => choose(request === requests[0] ? undefined : request.at)}
                >
                  <time dateTime={request.at} title={utc(request.at)}>
                    {timeWithSeconds(request.at)}
                  </time>
                  <bdi className={css.line}>{summaryOf(request)}</bdi>
                  <SignatureBadge signature={request.signature} />
                </button>
              </li>
            ))}
          </ol>
          <Shown request={shown} />
        </>
      )}
    </main>
  )
}

function SignatureBadge({ signature }: { signature: Signature }) {
  if (signature === null) return <Badge>{text.phone.unsigned}</Badge>
  if (signature.isValid === null) return <Badge>{text.phone.unchecked}</Badge>
  return (
    <Badge tone={signature.isValid ? 'good' : 'bad'}>
      <Icon name={signature.isValid ? 'check' : 'alert'} size={12} />
      {signature.isValid ? text.phone.valid : text.phone.invalid}
    </Badge>
  )
}

/** The text of the message, by which a delivery is found again; else the event. */
function summaryOf({ body, headers }: Request): string {
  try {
    const { message } = JSON.parse(body)
    if (typeof message.text === 'string') return message.text
  } catch {
    // A test of the receiver may post anything.
  }
  return headers['x-service-event'] ?? ''
}

function Shown({ request: { method, headers, body } }: { request: Request }) {
  const own = Object.entries(headers).filter(([name]) => name.startsWith('x-'))
  return (
    <section className={css.shown} aria-label={text.phone.delivery}>
      <p className={css.address}>
        {method} /sandbox/receivers/{RECEIVER}
      </p>
      <dl className={css.headers}>
        {own.map(([name, value]) => (
          <div key={name} className={css.header}>
            <dt>{name}</dt>
            <dd title={value}>{value}</dd>
          </div>
        ))}
      </dl>
      <div className={css.body}>
        <JsonView source={body} label={text.phone.body} />
      </div>
    </section>
  )
}
