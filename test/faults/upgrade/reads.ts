import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { patience } from '../load/client.ts'
import type { Company } from '../load/company.ts'

const READERS = 3
/** The stream, the provider handshake with its own token, and single-record addresses. */
const LEFT_OUT = /^\/public\/v1\/(events|webhooks\/whatsapp)$|\{(?!id\})|^\/(media|public)\/.*\{/

export type Reads = { answered: number; unavailable: number; strange: string[] }

type Site = { folder: string; addresses: readonly string[]; company: Company; adminToken: string }

/**
 * Reads every list of the previous release's contract again and again, and writes a contact between them. Each address answers as it did
 * at first, or 503 with `Retry-After`; all else is strange.
 */
export async function startReads(site: Site) {
  const paths = listPaths(site.folder)
  const usual = new Map<string, number | string>()
  for (const path of paths) usual.set(path, (await read(site, path, 0)).status)
  const reads: Reads = { answered: 0, unavailable: 0, strange: [] }
  let isOver = false
  const readers = Array.from({ length: READERS }, async (_, reader) => {
    for (let number = reader * 5; !isOver; number += 1) {
      const path = paths[number % paths.length] ?? ''
      const { status, retryAfter } = await read(site, path, number)
      // A record with the id may come into being meanwhile.
      if (status === 200 || status === usual.get(path)) reads.answered += 1
      else if (status === 503 && retryAfter) reads.unavailable += 1
      // Another process takes what one that restarts refuses.
      else if (status !== 'ECONNREFUSED')
        reads.strange.push(`${new Date().toISOString().slice(11, 19)} ${path}: ${status}`)
    }
  })
  return {
    reads,
    paths: paths.length,
    stop: async (): Promise<Reads> => {
      isOver = true
      await Promise.all(readers)
      return reads
    },
  }
}

const WRITE = 'POST /public/v1/contacts'

function listPaths(folder: string): string[] {
  const { paths }: { paths: Record<string, { get?: object }> } = JSON.parse(
    readFileSync(join(folder, 'openapi.json'), 'utf8'),
  )
  const lists = Object.entries(paths).filter(([path, { get }]) => get !== undefined && !LEFT_OUT.test(path))
  return [...lists.map(([path]) => path.replace('{id}', '1')), WRITE]
}

async function read({ addresses, company, adminToken }: Site, path: string, number: number) {
  const headers = { authorization: `Bearer ${path.startsWith('/admin') ? adminToken : company.token}` }
  const url = `${addresses[number % addresses.length]}${path.replace('POST ', '')}`
  const write = {
    method: 'POST',
    headers: { ...headers, 'content-type': 'application/json' },
    body: JSON.stringify({ email: `reader${number % 20}@example.com`, first_name: `n${number}` }),
  }
  try {
    const answer = await fetch(url, {
      ...(path === WRITE ? write : { headers }),
      signal: AbortSignal.timeout(patience.answerMs),
    })
    await answer.text()
    return { status: answer.status === 201 ? 200 : answer.status, retryAfter: answer.headers.has('retry-after') }
  } catch (error) {
    const { cause } = error as { cause?: { code?: string } }
    return { status: cause?.code ?? String(error), retryAfter: false }
  }
}
