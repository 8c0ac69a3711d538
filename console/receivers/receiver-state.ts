import type { Registration } from '../../client/src/generated/schemas.ts'
import type { Tone } from '../parts/feedback/badge.tsx'
import { ago } from '../texts/format.ts'
import { receiverText } from '../texts/receivers.ts'

/** How a receiver does, the worst first: a pause, dead letters of a day, failures since the last success. */
export function stateOf({ status, pausedReason, pausedAt, health }: Registration): { tone: Tone; words: string } {
  const { state } = receiverText
  const { deadLettered24h, consecutiveFailures, lastFailureAt, lastSuccessAt } = health
  if (pausedAt !== null && pausedReason === 'backlog') return { tone: 'bad', words: state.onlyMessages(ago(pausedAt)) }
  if (pausedAt !== null) return { tone: 'bad', words: state.pausedByService(ago(pausedAt)) }
  if (status === 'inactive') return { tone: 'plain', words: state.paused }
  if (deadLettered24h > 0) return { tone: 'bad', words: state.dead(deadLettered24h, lastOf(lastFailureAt)) }
  if (consecutiveFailures > 0) return { tone: 'warn', words: state.failing(consecutiveFailures, lastOf(lastFailureAt)) }
  if (lastSuccessAt !== null) return { tone: 'good', words: state.delivered(ago(lastSuccessAt)) }
  return { tone: 'plain', words: state.none }
}

const lastOf = (at: string | null): string | null => at && ago(at)
