import type { Random } from '../random.ts'

const LONGEST_ANSWER_MS = 15_000

// biome-ignore lint/suspicious/noExplicitAny: answers of another program, of which a few members are read
export type Answer = { status: number; body: any }

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
      signal: AbortSignal.timeout(LONGEST_ANSWER_MS),
    })
    return { status: response.status, body: await response.json().catch(() => undefined) }
  } catch (error) {
    return { status: 0, body: { error: { code: reasonOf(error) } } }
  }
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown'
  const { cause } = error
  return cause instanceof Error && 'code' in cause ? String(cause.code) : error.name
}
