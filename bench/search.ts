import type { BenchContext } from './bench.ts'
import { figure } from './figure.ts'
import { type Load, requireCleanReport, startLoad } from './load.ts'
import type { Company, Stage } from './stage.ts'

/** A search may take so long, also while lists are imported. */
const GOAL_MS = 100
export const IMPORT_ROWS = 100_000

/** Searches in a company whose contacts are all called Ada Lovelace and a number: see `fillCompany`. */
export const SEARCHES: Record<string, string> = {
  'few matches': 'lovelace 3933100077',
  'a formatted phone': '+39 331 000 77 77',
  'one match, frequent parts': 'p393310077777@example',
  'frequent parts, no match': 'lovelace ada',
  'two letters, no match': 'zq',
  'one that all match': 'ada',
}

/** Each search alone, and beside a list that another company imports. */
export async function measureSearches(context: BenchContext, stage: Stage, company: Company): Promise<void> {
  const load = startLoad()
  try {
    await measureAll(context, stage, load, company, 'quiet')
    const importer = await stage.createCompany(0)
    const id = await startImport(stage, importer)
    await measureAll(context, stage, load, company, 'beside an import')
    await cancelImport(stage, importer, id)
  } finally {
    await load.stop()
  }
}

async function measureAll(context: BenchContext, stage: Stage, load: Load, company: Company, when: string) {
  for (const [name, text] of Object.entries(SEARCHES)) {
    const found = await search(stage, load, company, text, context.quick ? 1 : 3)
    requireCleanReport(name, found)
    context.say(`search, ${name}, ${when}: p50 ${found.p50Ms.toFixed(1)} ms, longest ${found.maxMs.toFixed(0)} ms`)
    context.report(figure(`search, ${name}, ${when}, p99`, found.p99Ms, 'ms', { atMost: GOAL_MS }))
  }
}

/** One request at a time for so many seconds. */
export const search = (stage: Stage, load: Load, { headers }: Company, text: string, seconds: number) =>
  load.run({
    url: stage.url,
    method: 'GET',
    path: `/public/v1/contacts?limit=25&search=${encodeURIComponent(text)}`,
    headers,
    concurrency: 1,
    seconds,
  })

/** Starts an import of new contacts with name, email and phone; returns its id. */
export async function startImport(stage: Stage, { headers }: Company): Promise<number> {
  const batch = Date.now()
  const rows = Array.from(
    { length: IMPORT_ROWS },
    (_, i) => `r${batch}.${i}@example.org,+39${String(batch).slice(-6)}${100_000 + (i % 900_000)},Grace,Hopper ${i}`,
  )
  const answer = await fetch(`${stage.url}/public/v1/contacts/import`, {
    method: 'POST',
    headers: { ...headers, 'content-type': 'text/csv' },
    body: `email,phone,first_name,last_name\r\n${rows.join('\r\n')}\r\n`,
  })
  if (answer.status !== 202) throw new Error(await answer.text())
  const { data } = (await answer.json()) as { data: { id: number } }
  return data.id
}

async function cancelImport(stage: Stage, { headers }: Company, id: number): Promise<void> {
  const { authorization = '' } = headers
  await fetch(`${stage.url}/public/v1/contacts/imports/${id}`, { method: 'DELETE', headers: { authorization } })
}
