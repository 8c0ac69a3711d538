import { createHmac, randomBytes, scryptSync } from 'node:crypto'
import { truncateSync, writeFileSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { schemaDigest } from '../../../src/moves/move-store.ts'
import { MOVED_TABLES } from '../../../src/moves/moved-rows.ts'
import { FORMAT, FORMAT_VERSION } from '../../../src/moves/transfer-file.ts'
import { newApiSecret, newClientId } from '../../../src/platform/ids.ts'
import { createCipher } from '../../../src/secrets/secrets.ts'
import { runCommand } from '../command.ts'
import type { Tally } from '../tally.ts'
import type { World } from '../world.ts'

const PASSPHRASE = 'a passphrase of an attacker'
const FIRST_COMPANY = 7_000_001
/** Each round imports companies of its own. */
const COMPANIES_OF_A_ROUND = 1_000
/** The company of the archive whose file has a path as its name. */
const ELSEWHERE = 7_100_000
/** Longer than a string of the runtime can be. */
const ENDLESS_BYTES = 700 * 1024 * 1024

type Line = Record<string, unknown>
type Archive = {
  name: string
  /** The lines of the file after those of an empty company. */
  lines?: Line[]
  header?: Line
  /** Changes the bytes of the file after it was signed. */
  alter?: (text: string) => string
  /** Whether the import succeeds; it then has made rows of the company of the header alone. */
  isTaken?: boolean
  /** Whether the last line goes on: the bytes behind it are zeros, which take no space. */
  isEndless?: boolean
}

/**
 * Imports files that an attacker made who knows their passphrase, on the installation of other companies: rows and files of
 * other companies, names of files that lead elsewhere, files that do not end. Nothing of another company may change.
 * `isBrief`: the first of them. `concurrent`: imports at a time.
 */
export async function attackArchives(
  world: World,
  tally: Tally,
  { round, isBrief, concurrent }: { round: number; isBrief: boolean; concurrent: number },
): Promise<void> {
  const rows = await rowsOf(world)
  const archives = createArchives(world, rows)
    .slice(0, isBrief ? 1 : undefined)
    .entries()
  const before = await stateOf(world)
  const firstCompany = FIRST_COMPANY + round * COMPANIES_OF_A_ROUND
  const worker = async () => {
    for (const [n, archive] of archives) await importArchive(world, tally, rows, archive, firstCompany + n)
  }
  await Promise.all(Array.from({ length: concurrent }, worker))
  const after = await stateOf(world)
  const add = (what: string) => tally.add('archives that reach other companies', what)
  if (after.rows !== before.rows) add(`rows of other companies changed: ${before.rows} / ${after.rows}`)
  if (after.files !== before.files) add(`files changed: ${before.files} / ${after.files}`)
}

async function importArchive(
  world: World,
  tally: Tally,
  rows: Rows,
  archive: Archive,
  companyId: number,
): Promise<void> {
  const { stage } = world
  tally.requests++
  const file = join(stage.folder, `archive-${companyId}.ndjson`)
  writeFileSync(file, await signed(world, companyId, archive, rows))
  if (archive.isEndless) truncateSync(file, ENDLESS_BYTES)
  const { code, output } = await runCommand(world, ['company', 'import', file], PASSPHRASE)
  const add = (what: string) => tally.add('archives that reach other companies', `${archive.name}: ${what}`)
  if (code !== (archive.isTaken ? 0 : 1)) add(`the import exited with ${code}: ${output.slice(0, 200)}`)
  if (/node:internal|\.ts:\d+:\d+/.test(output)) tally.add('leaks', `${archive.name}: ${output.slice(0, 200)}`)
  const created = await stage.db`select from companies where id = ${companyId}`
  if (!archive.isTaken && created.length > 0) add('a refused file left a company')
}

type Rows = { company: Line; key: Line; contact: Line }

/** Rows of the attacker's company as an export writes them. */
async function rowsOf({ stage, own }: World): Promise<Rows> {
  const [row] = await stage.db<[{ company: string; key: string; contact: string }]>`
    select
      (select to_jsonb(companies)::text from companies where id = ${own.id}) as company,
      (select to_jsonb(api_keys)::text from api_keys where company_id = ${own.id} limit 1) as key,
      (select to_jsonb(contacts)::text from contacts where company_id = ${own.id} limit 1) as contact
  `
  return { company: JSON.parse(row.company), key: JSON.parse(row.key), contact: JSON.parse(row.contact) }
}

/** The rows of the other companies and the files beside the service's data, which must not change. */
async function stateOf({ stage, own, foreign }: World): Promise<{ rows: string; files: string }> {
  const [rows] = await stage.db<[{ companies: string; keys: string; contacts: string; templates: string }]>`
    select
      (select md5(string_agg(stored::text, ',' order by id)) from companies as stored where id in (${own.id}, ${foreign.id})) as companies,
      (
        select md5(string_agg(company_id || client_id || digest::text, ',' order by client_id))
        from api_keys where company_id in (${own.id}, ${foreign.id})
      ) as keys,
      (
        select md5(string_agg(stored::text, ',' order by id)) from contacts as stored where company_id in (${own.id}, ${foreign.id})
      ) as contacts,
      (
        select md5(string_agg(stored::text, ',' order by id)) from email_templates as stored
        where company_id in (${own.id}, ${foreign.id})
      ) as templates
  `
  const paths = await readdir(stage.folder, { recursive: true })
  const files = paths.filter((path) => /\/media\/(?!unfinished)|planted/.test(path))
  return { rows: JSON.stringify(rows), files: files.toSorted().join(' ') }
}

function createArchives({ own, foreign }: World, { key, contact }: Rows): Archive[] {
  const row = (table: string, members: object): Line => ({ table, row: JSON.stringify(members) })
  const newKey = () => ({ ...key, client_id: newClientId(), digest: `\\x${randomBytes(32).toString('hex')}` })
  const blob = (name: string): Line[] => [
    { blob: name, mimeType: 'text/plain', piece: Buffer.from('planted').toString('base64') },
    { blob: name, mimeType: 'text/plain', piece: '' },
  ]
  const random = randomBytes(32).toString('hex')
  return [
    {
      name: 'rows that name another company',
      lines: [
        row('api_keys', { ...newKey(), company_id: foreign.id }),
        row('contacts', { ...contact, company_id: foreign.id }),
      ],
      isTaken: true,
    },
    { name: 'the id of an existing company', header: { companyId: foreign.id } },
    { name: 'a second row of another company', lines: [row('companies', { id: foreign.id, name: 'Other' })] },
    { name: 'an API key that exists', lines: [row('api_keys', { ...key, company_id: own.id })] },
    { name: 'a file of another company', lines: blob(`${foreign.id}-${random}`) },
    {
      name: 'a file that leads elsewhere',
      header: { companyId: ELSEWHERE },
      lines: blob(`${ELSEWHERE}-../../../../planted`),
    },
    { name: 'a table that does not move', lines: [row('service_secrets', { name: 'x' })] },
    { name: 'an id at the end of its sequence', lines: [row('contacts', { ...contact, id: Number.MAX_SAFE_INTEGER })] },
    { name: 'a row of a million levels', lines: [{ table: 'contacts', row: '['.repeat(1e6) + ']'.repeat(1e6) }] },
    { name: 'a row of an altered file', alter: (text) => text.replace('"name":"', '"name":"x') },
    { name: 'an endless line', alter: () => '{"format":"', isEndless: true },
  ]
}

/** The file of a company with these lines, as its importer expects it. */
async function signed({ stage }: World, companyId: number, archive: Archive, { company }: Rows): Promise<string> {
  const salt = randomBytes(16).toString('base64')
  const keys = scryptSync(PASSPHRASE, Buffer.from(salt, 'base64'), 64)
  const cipher = createCipher([keys.subarray(0, 32).toString('base64')])
  const header = {
    format: FORMAT,
    version: FORMAT_VERSION,
    schema: await schemaDigest(stage.db),
    companyId,
    name: 'Moved',
    salt,
    mediaSecret: cipher.encrypt(newApiSecret()),
    optOutKey: cipher.encrypt(newApiSecret()),
    hasHashedOptOuts: false,
    ...archive.header,
  }
  const entries = [header, { table: MOVED_TABLES[0], row: JSON.stringify(company) }, ...(archive.lines ?? [])]
  const text = entries.map((entry) => `${JSON.stringify(entry)}\n`).join('')
  const hmac = createHmac('sha256', keys.subarray(32)).update(text).digest('hex')
  const whole = `${text}${JSON.stringify({ end: { lines: entries.length, hmac } })}\n`
  return archive.alter?.(whole) ?? whole
}
