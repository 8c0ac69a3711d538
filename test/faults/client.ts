import type { Random } from './random.ts'

const LONGEST_ANSWER_MS = 15_000

// biome-ignore lint/suspicious/noExplicitAny: answers of another program, of which a few members are read
export type Answer = { status: number; body: any }

/** Asks one of the addresses; status 0 when no answer came. */
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
  } catch {
    return { status: 0, body: undefined }
  }
}
