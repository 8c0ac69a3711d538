import { randomBytes, randomInt } from 'node:crypto'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { createClient } from '../client.ts'
import type { Tally } from '../tally.ts'
import { untilNone } from '../until-found.ts'
import type { World } from '../world.ts'

const ROOT = fileURLToPath(new URL('../../../', import.meta.url))
const CONTACTS = '/public/v1/contacts'
const COMPANIES = 3
const ARRAY_LENGTH = 1_000
/** The standard rate of a company: 100 requests a minute. */
const PAUSE_MS = 600
const ARRAYS_OF_COMPANY = 10
const IMPORTS = 8
const ROWS = 2_500
const BRIEF_ROWS = 1_000

type Pace = { ROWS_PER_SECOND: number; ROWS_PER_TURN: number }

/**
 * Companies with large work: arrays of contacts at the standard rate, and eight imports of one company. Counts work that was done
 * faster than the pace of the service allows while other companies call.
 */
export async function createBulkWork({ stage, root = ROOT }: World, tally: Tally, isBrief: boolean) {
  const pace: Pace = await import(join(root, 'src/contacts/write/contact-change.ts'))
  const companies = await Promise.all(Array.from({ length: COMPANIES }, () => stage.createCompany(0)))
  const clients = companies.map((_, n) => createClient(stage.url, `127.0.4.${n + 1}`))
  const post = async (n: number, path: string, body: string, type = 'application/json') => {
    tally.requests++
    const headers = { ...companies[n]?.headers, 'content-type': type }
    const answer = await clients[n]?.send({ method: 'post', path, headers, body })
    if ((answer?.status ?? 0) >= 300) {
      tally.add('healthy calls refused', `large work: ${answer?.status} ${answer?.text.slice(0, 100)}`)
    }
  }
  const underPace = async (rows: number, work: () => Promise<unknown>): Promise<void> => {
    const startedAt = performance.now()
    await work()
    const seconds = (performance.now() - startedAt) / 1_000
    if (rows <= pace.ROWS_PER_TURN + seconds * pace.ROWS_PER_SECOND) return
    tally.add('large work beyond its pace', `${rows} rows in ${seconds.toFixed(1)} s`)
  }
  const sendArrays = async (rounds: number, n: number): Promise<void> => {
    const answers: Promise<void>[] = []
    await sleep((n * PAUSE_MS) / COMPANIES)
    for (let round = 0; round < rounds; round += 1) {
      answers.push(post(n, CONTACTS, JSON.stringify(contacts(ARRAY_LENGTH))))
      await sleep(PAUSE_MS)
    }
    await Promise.all(answers)
  }
  return {
    sendArrays: () => {
      const rounds = isBrief ? 2 : ARRAYS_OF_COMPANY
      const all = () => Promise.all(companies.map((_, n) => sendArrays(rounds, n)))
      return underPace(rounds * COMPANIES * ARRAY_LENGTH, all)
    },
    importLists: () => {
      const rows = isBrief ? BRIEF_ROWS : ROWS
      const companyId = companies[0]?.companyId ?? 0
      return underPace(IMPORTS * rows, async () => {
        const lists = Array.from({ length: IMPORTS }, () => ['email,phone,first_name', ...contacts(rows).map(toLine)])
        await Promise.all(lists.map((list) => post(0, `${CONTACTS}/import`, list.join('\n'), 'text/csv')))
        await untilNone(
          () => stage.db`select from contact_imports where company_id = ${companyId} and ended_at is null limit 1`,
        )
      })
    },
    close: () => Promise.all(clients.map((client) => client.close())),
  }
}

const contacts = (count: number) =>
  Array.from({ length: count }, () => {
    const firstName = randomBytes(6).toString('hex')
    return { email: `${firstName}@example.com`, phone: `+3933${randomInt(1e7, 1e8)}`, firstName, tags: ['shop'] }
  })

const toLine = ({ email, phone, firstName }: ReturnType<typeof contacts>[number]): string =>
  [email, phone, firstName].join()
