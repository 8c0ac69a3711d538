import { useMutation } from '@tanstack/react-query'
import type { TestDelivery } from '../../client/src/generated/schemas.ts'
import { api } from '../client.ts'
import { IconButton } from '../parts/button.tsx'
import { Badge } from '../parts/feedback/badge.tsx'
import { faultText } from '../parts/feedback/failure-text.ts'
import { duration } from '../texts/format.ts'
import { receiverText } from '../texts/receivers.ts'
import { text } from '../texts/text.ts'
import css from './test-result.module.css'

type Test = {
  run: () => void
  isRunning: boolean
  result: TestDelivery | undefined
  error: unknown
  forget: () => void
}

/** Sends one sample to the receiver. */
export function useTest(id: number): Test {
  const { mutate, isPending, data, error, reset } = useMutation({
    mutationFn: async () => (await api.testRegistration({ id }, { idempotencyKey: crypto.randomUUID() })).data,
  })
  return { run: mutate, isRunning: isPending, result: data, error, forget: reset }
}

/** Shows the answer of the receiver to the sample. */
export function TestResult({ test: { result, error, forget } }: { test: Test }) {
  if (result === undefined && !error) return null
  const { statusCode = null, errorMessage = null, response = null, durationMs = 0 } = result ?? {}
  const isGood = errorMessage === null && statusCode !== null && statusCode < 300
  return (
    <section className={css.result} aria-label={receiverText.testTitle} role="status">
      <div className={css.line}>
        <Badge tone={isGood ? 'good' : 'bad'}>{statusCode ?? receiverText.noAnswer}</Badge>
        <span className={css.text}>
          {result === undefined
            ? faultText(error)
            : statusCode === null
              ? errorMessage
              : receiverText.testAnswer(duration(durationMs))}
        </span>
        <IconButton icon="close" label={text.close} onClick={forget} />
      </div>
      {result && statusCode !== null && <pre className={css.answer}>{response || receiverText.emptyAnswer}</pre>}
    </section>
  )
}
