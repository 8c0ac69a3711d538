import type { DeliveryDetails } from '../../../client/src/generated/schemas.ts'
import { Badge, type Tone } from '../../parts/feedback/badge.tsx'
import { duration, full, timeWithSeconds, utc } from '../../texts/format.ts'
import { deliveryText, receiverText } from '../../texts/receivers.ts'
import css from './attempts.module.css'

type Attempt = DeliveryDetails['attempts'][number]

type Props = { attempts: Attempt[]; chosenId: number | undefined; onChoose: (id: number) => void }

/** The attempts, the newest first: the chosen one is the one whose headers and answer are shown. */
export function Attempts({ attempts, chosenId, onChoose }: Props) {
  if (attempts.length === 0) return null
  return (
    <ol className={css.attempts} aria-label={deliveryText.attemptsLabel}>
      {attempts.map((attempt) => (
        <li key={attempt.id}>
          <button
            type="button"
            className={css.attempt}
            aria-pressed={attempt.id === chosenId}
            onClick={() => onChoose(attempt.id)}
          >
            <span className={css.number}>{attempt.attempt}</span>
            <time dateTime={attempt.sentAt} title={`${full(attempt.sentAt)} · ${utc(attempt.sentAt)}`}>
              {timeWithSeconds(attempt.sentAt)}
            </time>
            <span>
              <Badge tone={toneOf(attempt)}>{attempt.statusCode ?? receiverText.noAnswer}</Badge>
            </span>
            <span className={css.soft}>{duration(attempt.durationMs)}</span>
            <span className={css.reason}>{reasonOf(attempt)}</span>
          </button>
        </li>
      ))}
    </ol>
  )
}

/** Without the status code, which has a column of its own. */
const reasonOf = ({ errorMessage }: Attempt): string =>
  errorMessage?.replace(/(^|: )the receiver answered \d{3}$/, '') ?? ''

const toneOf = ({ statusCode }: Attempt): Tone =>
  statusCode !== null && statusCode >= 200 && statusCode < 300 ? 'good' : 'bad'
