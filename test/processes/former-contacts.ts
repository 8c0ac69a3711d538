import { writeFileSync } from 'node:fs'
import { pathToFileURL } from 'node:url'

// Run in a process of its own beside the sources of an earlier version: migrates an empty database with them and stores
// contacts as they did. Arguments: the sources, the database, the file for what the contacts showed, and how many.
const [root = '', url = '', file = '', count = ''] = process.argv.slice(2)
const load = (path: string) => import(new URL(path, pathToFileURL(`${root}/`)).href)
const { connect } = await load('src/db/connect.ts')
const { migrate } = await load('src/db/migration/migrate.ts')
const { upsertContacts } = await load('src/contacts/write/contact-upsert.ts')
const { removeContact } = await load('src/contacts/contact.ts')

const BATCH = 250
const BY = { clientId: null, source: 'api' }
const CONSENTS = [true, false, undefined]

type Write = Record<string, unknown>

/** Spellings of one domain, of which the pairs that `n` makes with `n - 1` are twins, and plain addresses. */
function emailOf(n: number): string | undefined {
  const spellings = [
    `Contact${n}@Example.com`,
    `contact${n}@example.org`,
    `contact${n}@münchen.example`,
    `contact${n}@xn--mnchen-3ya.example`,
    `Contact${n}@MÜNCHEN.example`,
    `contact${n}@ｅxample.net`,
    `twin${n}@bücher.example`,
    `twin${n - 1}@xn--bcher-kva.example`,
    `jörg${n}@example.com`,
    undefined,
  ]
  return spellings[n % spellings.length]
}

/** As the API of that version stored what it was given: digits, whatever they are. */
function phoneOf(n: number): string | undefined {
  const digits = String(n).padStart(5, '0')
  const spellings = [
    `3933312${digits}`,
    `32812${digits}`,
    `4407700${digits}`,
    `4477009${digits}0`,
    `52155123${digits}`,
    `551198${digits}00`,
    `5491123${digits}`,
    `1234567${digits}890`,
    undefined,
  ]
  const phone = spellings[n % spellings.length]
  return phone ?? (n % 10 === 9 ? `3939999${digits}` : undefined)
}

const consentOf = (n: number) => ({
  ...(CONSENTS[n % 3] !== undefined && { emailConsent: CONSENTS[n % 3] }),
  ...(CONSENTS[Math.floor(n / 3) % 3] !== undefined && { whatsappConsent: CONSENTS[Math.floor(n / 3) % 3] }),
})

const contactOf = (n: number): Write => ({
  ...(emailOf(n) !== undefined && { email: emailOf(n) }),
  ...(phoneOf(n) !== undefined && { phone: phoneOf(n) }),
  ...consentOf(n),
  firstName: `Ünal ${n}`,
  tags: [`tag ${n % 7}`],
  customFields: { SIZE: n, note: `${n}`.repeat(3), nested: { n: [n, null, 'x'] } },
})

async function write(db: unknown, companyId: number, writes: Write[]): Promise<void> {
  for (let at = 0; at < writes.length; at += BATCH) {
    await upsertContacts(db, companyId, writes.slice(at, at + BATCH), BY, { isArray: true })
  }
}

const db = connect(url, { optOutKey: 'key-of-the-tests' })
await migrate(db)
const [{ id: companyId }] = await db`insert into companies (name) values ('Shop') returning id`
const numbers = Array.from({ length: Number(count) }, (_, n) => n)
await write(db, companyId, numbers.map(contactOf))
// Some change their mind; some are deleted, and what they said stays.
const named = (n: number) => (emailOf(n) === undefined ? { phone: phoneOf(n) } : { email: emailOf(n) })
await write(
  db,
  companyId,
  numbers
    .filter((n) => n % 11 === 0)
    .map((n) => ({ ...named(n), emailConsent: n % 2 === 0, whatsappConsent: n % 4 < 2 })),
)
const listed = () => db`
  select id, email, phone, email_consent, whatsapp_consent, custom_fields, tags, first_name, deleted_at is not null as is_deleted
  from contacts
  where company_id = ${companyId}
  order by id
`
for (const { id } of (await listed()).filter((_: unknown, place: number) => place % 97 === 0)) {
  await removeContact(db, companyId, id)
}
const contacts = (await listed()).map((one: { firstName: string }) => ({
  ...one,
  saidAt: Number(one.firstName.split(' ')[1]) % 11 === 0 ? 1 : 0,
}))
writeFileSync(file, JSON.stringify({ companyId, contacts }))
await db.end()
