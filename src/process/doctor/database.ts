import { listCompanies } from '../../companies/company.ts'
import type { Pool } from '../../db/connect.ts'
import { joinDatabase, openPool } from '../../db/database.ts'
import { checkSchema } from '../../db/migration/migrate.ts'
import { WITHOUT_SESSIONS } from '../../db/pooler.ts'
import { readServerFacts, type ServerFacts } from '../../db/server/server-fact-store.ts'
import { explainRefusal } from '../../db/server/start-refusal.ts'
import { openBlobStore } from '../../media/blobs/open-blob-store.ts'
import { countMissing, type FileCounts } from '../../media/places/copy-files.ts'
import { findTwins, sharedMailbox } from '../../people/matching/mailbox.ts'
import { systemClock } from '../../platform/clock.ts'
import type { Config } from '../../platform/settings/config.ts'
import { messageOf } from '../../platform/start-error.ts'
import { providerMessage } from '../../providers/graph-answer.ts'
import { readSecrets } from '../../secrets/prepare-secrets.ts'
import { checkSecrets } from '../../secrets/secret-store.ts'
import { type Cipher, createCipher } from '../../secrets/secrets.ts'
import { createSenderCache } from '../../senders/sender.ts'
import { createProviders } from '../../wiring/adapters.ts'
import { type Finding, finding, skipped } from './finding.ts'

const CLOCK_MS = 1_000
const CONNECTIONS = 15
const MAX_NUMBERS = 50
const MAX_TWINS = 20

/** Checks the database, stored data and provider credentials. */
export async function checkDatabase(config: Config): Promise<Finding[]> {
  const database = await joinDatabase(config)
  const { db, stop } = openPool(database.url, { max: 1 })
  try {
    const findings = [
      ...describeServer(await readServerFacts(db), config.databaseUrl === undefined),
      db.options.isPooled
        ? finding('pooler', WITHOUT_SESSIONS, 'warn')
        : finding('pooler', 'none, or one that gives each connection a session of its own'),
    ]
    const schema = await attempt('schema', 'of this version, and this role may read and write it', () =>
      checkSchema(db),
    )
    if (schema.status === 'fail') return [...findings, schema]
    const cipher = createCipher((await readSecrets(config)).encryptionKeys)
    const secrets = await attempt('secrets', 'ENCRYPTION_KEY reads all of them', () => checkSecrets(db, cipher))
    if (secrets.status === 'fail') return [...findings, schema, secrets]
    return [
      ...findings,
      schema,
      secrets,
      ...(await checkMailboxes(db)),
      ...(await checkNumbers(db, cipher, config)),
      await checkMedia(db, config),
    ]
  } finally {
    await stop()
    await database.stop()
  }
}

/** Files left behind when the media storage changed. */
async function checkMedia(db: Pool, config: Config): Promise<Finding> {
  const places = await openBlobStore(config).catch(() => undefined)
  if (places === undefined) return skipped('media', 'the media storage cannot be used')
  try {
    return describeFiles(await countMissing(db, places))
  } catch (error) {
    return finding('media', messageOf(error), 'fail')
  } finally {
    await places.stop()
  }
}

function describeFiles({ looked, uncopied, missing }: FileCounts): Finding {
  if (missing > 0)
    return finding(
      'media',
      `${missing} of ${looked} files are missing: restore them, or set MEDIA_EARLIER_BUCKET_URL to the bucket they are in`,
      'fail',
    )
  if (uncopied > 0)
    return finding(
      'media',
      `${uncopied} of ${looked} files are in the earlier place only: run parley media copy`,
      'warn',
    )
  return finding('media', `${looked} of ${looked} files are there`)
}

/** Contacts whose addresses are spellings of one mailbox. */
async function checkMailboxes(db: Pool): Promise<Finding[]> {
  const twins = (await findTwins(db)).slice(0, MAX_TWINS)
  return twins.length === 0
    ? [finding('mailboxes', 'no two contacts of a company have one mailbox')]
    : twins.map(({ companyId, ...twin }) =>
        finding('mailboxes', `company ${companyId}: ${sharedMailbox(twin)}`, 'warn'),
      )
}

const attempt = (name: string, message: string, work: () => Promise<void>): Promise<Finding> =>
  work().then(
    () => finding(name, message),
    (error) => finding(name, messageOf(explainRefusal(error) ?? error), 'fail'),
  )

function describeServer(facts: ServerFacts, isEmbedded: boolean): Finding[] {
  const apartMs = Math.abs(facts.now.getTime() - systemClock.now().getTime())
  const free = facts.maxConnections - facts.connections
  return [
    finding('database', `PostgreSQL ${facts.version}, time zone ${facts.timeZone}`),
    facts.fsync && facts.fullPageWrites && facts.synchronousCommit !== 'off'
      ? finding('durability', 'fsync, full_page_writes and synchronous_commit are on')
      : finding(
          'durability',
          'what is acknowledged can be lost: turn fsync, full_page_writes and synchronous_commit on',
          'fail',
        ),
    facts.standbys > 0 || isEmbedded
      ? finding('replication', isEmbedded ? 'embedded: back up DATA_DIR' : `standbys connected: ${facts.standbys}`)
      : finding('replication', 'no standby is connected: a lost disk loses everything since the last backup', 'warn'),
    free >= CONNECTIONS
      ? finding('connections', `${facts.connections} of ${facts.maxConnections} are open`)
      : finding('connections', `only ${free} of ${facts.maxConnections} are free: raise max_connections`, 'warn'),
    apartMs < CLOCK_MS
      ? finding('clock', 'the same as the database’s, within 1 s')
      : finding('clock', `${Math.round(apartMs / 1000)} s from the database’s: run NTP on both machines`, 'warn'),
  ]
}

/** Tries each number's credential without sending anything. */
async function checkNumbers(db: Pool, cipher: Cipher, config: Config): Promise<Finding[]> {
  const providers = createProviders(config)
  const cache = createSenderCache({ db, cipher, ttlMs: 1 })
  const companies = await listCompanies(db)
  const senders = []
  for (const { id } of companies) {
    if (senders.length <= MAX_NUMBERS) senders.push(...(await cache.listFor(id)))
  }
  const checked = senders.slice(0, MAX_NUMBERS)
  const each = await Promise.all(
    checked.map(async (sender) => {
      const name = `number ${sender.phoneNumber}`
      const listed = await providers[sender.provider]?.listNumbers(sender)
      if (listed === undefined) return finding(name, `there is no adapter for ${sender.provider}`, 'fail')
      if (listed.kind === 'fetched') return finding(name, `${sender.provider} accepts its credential`)
      const reason = providerMessage(listed.error)
      return listed.isRefused
        ? finding(name, `${sender.provider} refuses its credential (${reason}): run parley sender update`, 'fail')
        : finding(name, `${sender.provider} cannot be reached (${reason})`, 'fail')
    }),
  )
  if (checked.length === 0) return [skipped('numbers', 'none is connected')]
  const summary =
    senders.length > MAX_NUMBERS
      ? skipped('numbers', `more than ${MAX_NUMBERS} are connected; the first ${MAX_NUMBERS} follow`)
      : finding('numbers', `${checked.length} connected`)
  return [summary, ...each]
}
