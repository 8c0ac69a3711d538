import { execFileSync, spawnSync } from 'node:child_process'
import { mkdirSync, readFileSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { migrate } from '../../src/db/migration/migrate.ts'
import { rekeyEmails } from '../../src/emails/email-keys.ts'
import { hasRefusedEmail } from '../../src/people/consent/shown-consent.ts'
import { sweepMailboxes } from '../../src/people/matching/mailbox-sweep.ts'
import { emailKey } from '../../src/platform/text/email-address.ts'
import { caller, contactsApp } from '../contacts/contacts-app.ts'
import { createTestDatabase } from '../database.ts'
import { temporaryFolder } from '../temporary-folder.ts'

// The upgrade of contacts that the code of an earlier version stored, taken from the history of the repository.
const ROOT = join(import.meta.dirname, '../..')
const FORMER = 'b2051672'
/** `UPGRADED_CONTACTS=10000` takes four minutes. */
const COUNT = Number(process.env.UPGRADED_CONTACTS ?? 1_000)

type Stored = {
  id: number
  email: string | null
  phone: string | null
  emailConsent: boolean | null
  whatsappConsent: boolean | null
  customFields: unknown
  tags: string[]
  firstName: string
  isDeleted: boolean
  /** The order of the last write about its consent. */
  saidAt: number
}

/** A clone without the history skips the test. */
const hasHistory = spawnSync('git', ['cat-file', '-e', `${FORMER}^{commit}`], { cwd: ROOT }).status === 0

/** The sources of the version, with the packages of this one. */
function extractFormer(): string {
  const folder = join(temporaryFolder(), `parley-former-${process.pid}`)
  mkdirSync(folder, { recursive: true })
  const archive = execFileSync('git', ['archive', FORMER, 'src', 'migrations', 'package.json'], {
    cwd: ROOT,
    maxBuffer: 1e9,
  })
  execFileSync('tar', ['-x', '-C', folder], { input: archive })
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'))
  return folder
}

function storeFormer(url: string): { companyId: number; contacts: Stored[] } {
  const folder = extractFormer()
  const file = join(folder, 'contacts.json')
  execFileSync(process.execPath, [join(import.meta.dirname, 'former-contacts.ts'), folder, url, file, String(COUNT)], {
    stdio: 'inherit',
  })
  return JSON.parse(readFileSync(file, 'utf8'))
}

test.skipIf(!hasHistory)(
  `an upgrade from ${FORMER} keeps the consents of ${COUNT} contacts`,
  async () => {
    const { db, url } = await createTestDatabase()
    await db.unsafe('drop schema public cascade; create schema public')
    const { companyId, contacts } = storeFormer(url)
    await migrate(db)
    await db`update companies set rate_limit_per_minute = 100000`
    const { app, keyOf } = await contactsApp(db)
    const { headers } = await keyOf(caller(companyId))
    const get = async (path: string) => (await app.inject({ url: `/public/v1${path}`, headers })).json()
    const post = async (payload: object) =>
      (await app.inject({ method: 'POST', url: '/public/v1/contacts', headers, payload })).json()

    const living = contacts.filter(({ isDeleted }) => !isDeleted)
    await compareShown(living)
    await sweepMailboxes({ db, rekeyEmails }, new AbortController().signal)
    await compareShown(afterSweep(contacts))
    await compareRefused()
    await compareDeleted()

    /** All members by the API. */
    async function compareShown(contacts: Stored[]) {
      const shown: Record<string, unknown>[] = []
      for (let page = 1; ; page += 1) {
        const answer = await get(`/contacts?limit=100&sort=created_at&page=${page}`)
        const { data } = answer
        if (data === undefined) throw new Error(`page ${page}: ${JSON.stringify(answer)}`)
        shown.push(...data)
        if (data.length < 100) break
      }
      expect(shown.length).toBe(contacts.length)
      const byId = new Map(shown.map((contact) => [contact.id, contact]))
      const [expected, actual] = [contacts.map(toShown), contacts.map(({ id }) => pickShown(byId.get(id)))]
      expect(actual.filter((one, place) => JSON.stringify(one) !== JSON.stringify(expected[place]))).toEqual([])
    }

    /** Marketing follows what is shown. */
    async function compareRefused() {
      for (const { email, emailConsent } of afterSweep(contacts).filter((one) => one.email !== null))
        expect(await hasRefusedEmail(db, companyId, email ?? ''), email ?? '').toBe(emailConsent === false)
    }

    /** What a deleted contact said holds for the next one with its address or number, in any spelling. */
    async function compareDeleted() {
      const keys = new Set(living.flatMap(({ email }) => (email === null ? [] : [emailKey(email)])))
      const lost: unknown[] = []
      for (const { email, emailConsent } of contacts.filter(({ isDeleted }) => isDeleted)) {
        if (email === null || emailConsent !== false || keys.has(emailKey(email))) continue
        const { data } = await post({ email: emailKey(email) })
        if (data[0].marketing_consent.email !== false) lost.push(email)
      }
      expect(lost).toEqual([])
    }
  },
  600_000,
)

const toShown = ({ id, email, phone, emailConsent, whatsappConsent, customFields, tags, firstName }: Stored) => ({
  ...{
    id,
    email,
    phone: phone === null ? null : `+${phone}`,
    first_name: firstName,
    tags,
    custom_fields: customFields,
  },
  marketing_consent: { email: emailConsent, whatsapp: whatsappConsent },
})

const pickShown = (contact: Record<string, unknown> = {}) => {
  const { id, email, phone, first_name, tags, custom_fields, marketing_consent } = contact
  return { id, email, phone, first_name, tags, custom_fields, marketing_consent }
}

/** A contact shows what was said last under any spelling of its mailbox, also where two living contacts share it. */
function afterSweep(contacts: Stored[]): Stored[] {
  const keyOf = ({ email }: Stored) => (email === null ? '' : emailKey(email))
  const said = new Map<string, boolean>()
  // An opt-in ends with its contact, an opt-out does not.
  for (const one of contacts.toSorted((a, b) => a.saidAt - b.saidAt || a.id - b.id))
    if (one.emailConsent === false || (one.emailConsent && !one.isDeleted)) said.set(keyOf(one), one.emailConsent)
  return contacts
    .filter(({ isDeleted }) => !isDeleted)
    .map((one) => (one.email === null ? one : { ...one, emailConsent: said.get(keyOf(one)) ?? one.emailConsent }))
}
