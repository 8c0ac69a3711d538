import { useEffect, useState } from 'react'
import { ApiError } from '../../client.ts'
import { text } from '../../texts/text.ts'
import { Button } from '../button.tsx'
import { CopyButton } from '../json/copy-button.tsx'
import { Empty } from './empty.tsx'
import css from './failure.module.css'
import { describe } from './failure-text.ts'

type Props = {
  error: unknown
  /** Tries again. */
  retry: () => unknown
  /** The title and text for a record that is missing, or that belongs to another company. */
  missing?: { title: string; text?: string; onBack?: () => unknown } | undefined
}

/** The failure with an explanation, the request id to copy and a way to try again. */
export function Failure({ error, retry, missing }: Props) {
  const fault = error instanceof ApiError ? error : new ApiError('', { status: 500 })
  if (fault.status === 404 && missing !== undefined) {
    const { title, text: explanation = text.failure.notFoundText, onBack } = missing
    return (
      <Empty icon="unknown" title={title} text={explanation}>
        {onBack && (
          <Button icon="back" onClick={onBack}>
            {text.back}
          </Button>
        )}
      </Empty>
    )
  }
  const { icon, title, explanation } = describe(fault)
  const waitsFor = fault.status === 429 && (fault.retryAfter ?? 5)
  return (
    <div role="alert" className={css.failure}>
      <Empty icon={icon} title={title} text={waitsFor ? <CountDown seconds={waitsFor} onEnd={retry} /> : explanation}>
        {fault.status !== 403 && fault.status !== 429 && (
          <Button icon="refresh" onClick={() => retry()}>
            {text.tryAgain}
          </Button>
        )}
        {fault.requestId && <RequestId id={fault.requestId} />}
      </Empty>
    </div>
  )
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
  return (
    // The role keeps screen readers from announcing the alert each second.
    <span role="timer" className={css.wait}>
      {text.failure.retryIn(Math.max(left, 0))}
    </span>
  )
}

function RequestId({ id }: { id: string }) {
  return (
    <p className={css.request}>
      {text.failure.request} <code>{id}</code>
      <CopyButton value={id} label={text.failure.copyRequest} />
    </p>
  )
}
