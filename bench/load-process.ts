/** The program that all load comes from: takes orders from its parent, one at a time, and answers with the outcome of each. */
import { Pool } from 'undici'
import type { LoadOrder, LoadReport } from './load.ts'

/** Numbers of one process never meet another's. */
let number = Date.now() * 1_000
// None of them ends like one that the sandbox treats in a special way.
const FIRST_PHONE = 393_310_000_000

process.on('message', async (order: LoadOrder) => {
  process.send?.(await run(order))
})

async function run(order: LoadOrder): Promise<LoadReport> {
  const pool = new Pool(order.url, { connections: order.concurrency, pipelining: 1, headersTimeout: 30_000 })
  const write = { body: writerOf(order.body ?? '', order), path: writerOf(order.path, order) }
  const expected = String(order.status ?? 200)
  const fits = order.fits === undefined ? undefined : new RegExp(order.fits)
  const seen = new Set<string>()
  const times: number[] = []
  const failed: Record<string, number> = {}
  let [wrong, doubled] = [0, 0]
  const startedAt = performance.now()
  const cpuBefore = process.cpuUsage()
  const endsAt = order.seconds === undefined ? Number.POSITIVE_INFINITY : startedAt + order.seconds * 1_000
  let left = order.requests ?? Number.POSITIVE_INFINITY

  const client = async () => {
    while (left > 0 && performance.now() < endsAt) {
      left -= 1
      const mine = number++
      const sentAt = performance.now()
      const { status, text } = await ask(pool, order, write.path(mine), write.body(mine))
      times.push(performance.now() - sentAt)
      if (status !== expected) failed[status] = (failed[status] ?? 0) + 1
      else if (fits) judge(text)
    }
  }
  const judge = (text: string) => {
    const match = fits?.exec(text)
    if (!match) wrong += 1
    else if (match[1] !== undefined && seen.has(match[1])) doubled += 1
    else if (match[1] !== undefined) seen.add(match[1])
  }

  await Promise.all(Array.from({ length: order.concurrency }, client))
  const seconds = (performance.now() - startedAt) / 1_000
  const { user, system } = process.cpuUsage(cpuBefore)
  await pool.close()
  const answered = times.length - Object.values(failed).reduce((sum, count) => sum + count, 0)
  const sorted = Float64Array.from(times).sort()
  const quantile = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0
  return {
    answered,
    perSecond: answered / seconds,
    seconds,
    p50Ms: quantile(0.5),
    p99Ms: quantile(0.99),
    maxMs: quantile(1),
    failed,
    wrong,
    doubled,
    cpuSeconds: (user + system) / 1e6,
  }
}

async function ask(pool: Pool, { method, headers, body: shape }: LoadOrder, path: string, body: string) {
  try {
    const answer = await pool.request({ method, path, headers: headers ?? {}, body: shape === undefined ? null : body })
    return { status: String(answer.statusCode), text: await answer.body.text() }
  } catch (error) {
    return { status: error instanceof Error ? error.message : 'failed', text: '' }
  }
}

/** Text with its placeholders filled, split once and not for each request. */
function writerOf(shape: string, { phones = 1, choices = [] }: LoadOrder): (mine: number) => string {
  const parts = shape.split(/(\{n\}|\{phone\}|\{choice\})/)
  if (parts.length === 1) return () => shape
  const fill = (part: string, mine: number): string | number | undefined => {
    if (part === '{n}') return mine
    if (part === '{phone}') return FIRST_PHONE + (mine % phones)
    return part === '{choice}' ? choices[mine % choices.length] : part
  }
  return (mine) => parts.map((part) => fill(part, mine)).join('')
}
