/** The program that all load comes from: takes orders from its parent, one at a time, and reports what became of each. */
import { setTimeout as sleep } from 'node:timers/promises'
import { type Dispatcher, Pool } from 'undici'
import { quantileOf } from './average.ts'
import type { LoadOrder, LoadReport } from './load.ts'

/** Numbers of one process never meet another's. */
let number = Date.now() * 1_000
// None of them ends like one that the sandbox treats in a special way.
const FIRST_PHONE = 393_310_000_000
/** On a slow machine nothing fails since it takes long. */
const PATIENCE_MS = 300_000
const RETRY_MS = 1_000

process.on('message', async (order: LoadOrder) => {
  process.send?.(await run(order))
})

async function run(order: LoadOrder): Promise<LoadReport> {
  const { concurrency: connections = 64, url } = order
  const pool = new Pool(url, { connections, pipelining: 1, headersTimeout: PATIENCE_MS, bodyTimeout: PATIENCE_MS })
  const ask = askerOf(pool, order)
  const judge = judgeOf(order)
  const times: number[] = []
  const failed: Record<string, number> = {}
  const startedAt = performance.now()
  const one = async (dueAt: number) => {
    const fault = judge(await ask(number++, performance.timeOrigin + dueAt))
    times.push(performance.now() - dueAt)
    if (fault !== undefined) failed[fault] = (failed[fault] ?? 0) + 1
  }
  await (order.perSecond === undefined ? runClients(order, one) : runSteadily(order, order.perSecond, one))
  const seconds = (performance.now() - startedAt) / 1_000
  await pool.close()
  const count = times.length - Object.values(failed).reduce((sum, some) => sum + some, 0)
  const [p50Ms, p99Ms] = [quantileOf(times, 0.5), quantileOf(times, 0.99)]
  return { count, perSecond: count / seconds, startedAtMs: performance.timeOrigin + startedAt, p50Ms, p99Ms, failed }
}

type Answer = { status: string; text: string }
type One = (dueAt: number) => Promise<void>

/** What is wrong with an answer; undefined: nothing. */
function judgeOf({ status: expected = 200, fits }: LoadOrder): (answer: Answer) => string | undefined {
  const pattern = fits === undefined ? undefined : new RegExp(fits)
  const seen = new Set<string>()
  return ({ status, text }) => {
    if (status !== String(expected)) return status
    const [all, own] = pattern?.exec(text) ?? []
    if (pattern !== undefined && all === undefined) return 'wrong'
    if (own !== undefined && seen.has(own)) return 'doubled'
    if (own !== undefined) seen.add(own)
    return undefined
  }
}

/** Each client posts its next request as soon as the last is answered. */
async function runClients({ concurrency = 64, requests, seconds }: LoadOrder, one: One): Promise<void> {
  const endsAt = seconds === undefined ? Number.POSITIVE_INFINITY : performance.now() + seconds * 1_000
  let left = requests ?? Number.POSITIVE_INFINITY
  const client = async () => {
    while (left > 0 && performance.now() < endsAt) {
      left -= 1
      await one(performance.now())
    }
  }
  await Promise.all(Array.from({ length: concurrency }, client))
}

async function runSteadily({ requests, seconds = 0 }: LoadOrder, perSecond: number, one: One): Promise<void> {
  const total = requests ?? Math.ceil(perSecond * seconds)
  const startedAt = performance.now()
  const posts: Promise<void>[] = []
  while (posts.length < total) {
    const due = Math.min(total, ((performance.now() - startedAt) / 1_000) * perSecond)
    while (posts.length < due) posts.push(one(startedAt + (posts.length * 1_000) / perSecond))
    await sleep(1)
  }
  await Promise.all(posts)
}

function askerOf(pool: Pool, order: LoadOrder) {
  const { method = 'GET', headers = {}, body, tolerant } = order
  const [writePath, writeBody] = [writerOf(order.path, order), body === undefined ? () => null : writerOf(body, order)]
  const writers = Object.entries(headers).map(([name, shape]) => [name, writerOf(shape, order)] as const)
  return async (mine: number, at: number): Promise<Answer> => {
    const own = Object.fromEntries(writers.map(([name, write]) => [name, write(mine, at)]))
    const request = { method, path: writePath(mine, at), headers: own, body: writeBody(mine, at) }
    for (const startedAt = performance.now(); ; await sleep(RETRY_MS)) {
      const answer = await answerOf(pool, request)
      if (answer.status !== '503' || tolerant || performance.now() - startedAt > PATIENCE_MS) return answer
    }
  }
}

async function answerOf(pool: Pool, request: Dispatcher.RequestOptions): Promise<Answer> {
  try {
    const { statusCode, body } = await pool.request(request)
    return { status: String(statusCode), text: await body.text() }
  } catch (error) {
    return { status: error instanceof Error ? error.message : 'failed', text: '' }
  }
}

/** Text with its placeholders filled, split once and not for each request. */
function writerOf(shape: string, { phones = 1, choices = [] }: LoadOrder): (mine: number, at: number) => string {
  const parts = shape.split(/(\{n\}|\{at\}|\{phone\}|\{choice\})/)
  if (parts.length === 1) return () => shape
  const fill = (part: string, mine: number, at: number): string | number | undefined => {
    if (part === '{n}') return mine
    if (part === '{at}') return at.toFixed(3)
    if (part === '{phone}') return FIRST_PHONE + (mine % phones)
    return part === '{choice}' ? choices[mine % choices.length] : part
  }
  return (mine, at) => parts.map((part) => fill(part, mine, at)).join('')
}
