import type { Random } from '../random.ts'

/** How long an answer is waited for; where nothing is broken on purpose, longer than a busy machine takes. */
export const patience = { answerMs: 15_000 }

// biome-ignore lint/suspicious/noExplicitAny: answers of another program, of which a few members are read
export type Answer = { status: number; body: any }

/** What no upgrade may answer: neither 2xx, nor 503 with `Retry-After`, nor a connection that is refused as a whole. */
export const strangeAnswers: string[] = []

/** Asks one of the addresses; status 0 when no answer came, with the reason as code of the error. */
export async function ask(
  addresses: readonly string[],
  random: Random,
  path: string,
  body: string,
  headers: Record<string, string> = {},
): Promise<Answer> {
  try {
    const response = await fetch(`${random.pick(addresses)}${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body,
      signal: AbortSignal.timeout(patience.answerMs),
    })
    const answer: Answer = { status: response.status, body: await response.json().catch(() => undefined) }
    const isUnavailable = response.status === 503 && response.headers.has('retry-after')
    // After a 503, the first request with a key may still be running.
    const isRunning = answer.body?.error?.code === 'idempotency_key_in_use'
    if (!response.ok && !isUnavailable && !isRunning) {
      strangeAnswers.push(`POST ${path}: ${response.status} ${JSON.stringify(answer.body?.error ?? answer.body)}`)
    }
    return answer
  } catch (error) {
    const code = reasonOf(error)
    if (code !== 'ECONNREFUSED') strangeAnswers.push(`POST ${path}: ${code}`)
    return { status: 0, body: { error: { code } } }
  }
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown'
  const { cause } = error
  return cause instanceof Error && 'code' in cause ? String(cause.code) : error.name
}
