import { setTimeout as sleep } from 'node:timers/promises'
import type { Keyed } from '../evidence.ts'
import type { Random } from '../random.ts'
import { type Answer, ask } from './client.ts'
import type { Company } from './company.ts'
import type { Progress } from './progress.ts'

const CALLERS = 6
const RETRY_MS = 500
/** Longer than any key stays reserved: the service answers, and the request gets no outcome. */
const GIVE_UP_MS = 120_000
/** Faults may keep the service from answering at all for a while. */
const LONGEST_MS = 900_000
/** Of requests that succeeded: repeated once more, for the same outcome. */
const REPEATED = 0.1

export type KeyedLoad = {
  addresses: string[]
  companies: Company[]
  random: Random
  progress: Progress
  total: number
  path: string
  recipients: string[]
  bodyOf: (recipient: string, text: string) => object
  idOf: (body: Answer['body']) => unknown
}

/** Requests with an Idempotency-Key, each repeated until its outcome is known, or known to be unknown. */
export async function sendKeyed(load: KeyedLoad, name: string): Promise<Keyed[]> {
  const { random, companies, progress, total, recipients } = load
  const asked: Keyed[] = []
  const callers = Array.from({ length: CALLERS }, async () => {
    while (asked.length < total) {
      const number = asked.length
      const company = companies[number % companies.length]
      const recipient = recipients[number % recipients.length]
      if (company === undefined || recipient === undefined) return
      const keyed: Keyed = { text: `${name} ${number}.`, recipient, outcome: 'unanswered', ids: [], answers: [] }
      asked.push(keyed)
      await progress.run(number / total, async () => {
        await complete(load, company, keyed)
        if (keyed.outcome === 'acknowledged' && random.next() < REPEATED) await complete(load, company, keyed)
      })
    }
  })
  await Promise.all(callers)
  return asked
}

async function complete(load: KeyedLoad, company: Company, keyed: Keyed): Promise<void> {
  const body = JSON.stringify(load.bodyOf(keyed.recipient, keyed.text))
  const headers = { authorization: `Bearer ${company.token}`, 'idempotency-key': keyed.text }
  const startedAtMs = performance.now()
  let awayUntilMs = startedAtMs
  for (;;) {
    const answer = await ask(load.addresses, load.random, load.path, body, headers)
    const result = `${answer.status} ${answer.body?.error?.code ?? ''}`
    if (result !== keyed.answers.at(-1)) keyed.answers.push(result)
    if (answer.status >= 200 && answer.status < 300) {
      keyed.outcome = 'acknowledged'
      keyed.ids.push(String(load.idOf(answer.body)))
      return
    }
    if (answer.body?.error?.code === 'send_outcome_unknown') {
      keyed.outcome = 'unknown'
      return
    }
    const nowMs = performance.now()
    if (answer.status === 0 || answer.status === 503) awayUntilMs = nowMs
    if (nowMs - awayUntilMs > GIVE_UP_MS || nowMs - startedAtMs > LONGEST_MS) return
    await sleep(RETRY_MS)
  }
}
