import { useEffect, useState } from 'react'
import { ApiError } from '../client.ts'
import { text } from '../texts/text.ts'
import { Button } from './button.tsx'
import { CopyButton } from './copy-button.tsx'
import { Empty } from './empty.tsx'
import css from './failure.module.css'

type Props = {
  error: unknown
  /** Tries again. */
  retry?: (() => unknown) | undefined
  /** The title and text for a record that is missing, or that belongs to another company. */
  missing?: { title: string; text?: string } | undefined
}

/** What went wrong, in words, with the request id to copy and a way to try again. */
export function Failure({ error, retry, missing }: Props) {
  const fault = error instanceof ApiError ? error : new ApiError('')
  if (fault.status === 404 && missing !== undefined) {
    return <Empty icon="unknown" title={missing.title} text={missing.text ?? text.failure.notFoundText} />
  }
  const { icon, title, words } = describe(fault)
  return (
    <div role="alert" className={css.failure}>
      <Empty icon={icon} title={title} text={words}>
        {fault.status === 429 && retry && <CountDown seconds={fault.retryAfter ?? 5} onEnd={retry} />}
        {retry && fault.status !== 403 && fault.status !== 429 && (
          <Button icon="refresh" onClick={() => retry()}>
            {text.tryAgain}
          </Button>
        )}
        {fault.requestId && <RequestId id={fault.requestId} />}
      </Empty>
    </div>
  )
}

function describe({ status, message, requestId }: ApiError) {
  const { failure } = text
  if (status === 0 && requestId === null)
    return { icon: 'offline', title: failure.title, words: failure.offline } as const
  if (status === 403) {
    const permission = /\b(WhatsApp|Transactional|ContactsUpsert)\b/.exec(message)?.[1] ?? null
    return { icon: 'lock', title: failure.forbiddenTitle, words: failure.forbidden(permission) } as const
  }
  if (status === 404) return { icon: 'unknown', title: failure.notFound, words: failure.notFoundText } as const
  if (status === 429) return { icon: 'clock', title: failure.title, words: null } as const
  const words = status >= 500 || message === '' ? (status === 503 ? failure.busy : failure.server) : message
  return { icon: 'alert', title: failure.title, words } as const
}

/** One line for a failed action, beside the control that caused it. */
export const faultText = (error: unknown): string => {
  const fault = error instanceof ApiError ? error : new ApiError('')
  if (fault.fields.length > 0) return fault.fields.map(({ path, message }) => `${path}: ${message}`).join('; ')
  if (fault.status === 429) return text.failure.slowDown(fault.retryAfter ?? 5)
  return describe(fault).words ?? text.failure.server
}

function CountDown({ seconds, onEnd }: { seconds: number; onEnd: () => unknown }) {
  const [left, setLeft] = useState(seconds)
  useEffect(() => {
    if (left <= 0) {
      onEnd()
      return
    }
    const timer = setTimeout(() => setLeft(left - 1), 1_000)
    return () => clearTimeout(timer)
  }, [left, onEnd])
  return <p className={css.wait}>{text.failure.slowDown(Math.max(left, 0))}</p>
}

function RequestId({ id }: { id: string }) {
  return (
    <p className={css.request}>
      {text.failure.request} <code>{id}</code>
      <CopyButton value={id} label={text.failure.copyRequest} />
    </p>
  )
}
