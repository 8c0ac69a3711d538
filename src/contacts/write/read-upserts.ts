import type { Pool } from '../../db/connect.ts'
import type { Caller } from '../../http/admission/caller.ts'
import type { ContactWrite } from '../../people/contact-record.ts'
import { SMALL_BATCH } from '../../people/matching/identity-lock.ts'
import type { Cipher } from '../../secrets/secrets.ts'
import { readProofs } from '../identity-proof.ts'
import { waitForRows } from '../matching/bulk-pace.ts'
import type { BrowserRights } from './browser-write.ts'
import { refuseClaims } from './contact-faults.ts'
import { UPSERT_MAX_CONTACTS } from './contact-upsert.ts'
import { parseContactUpserts } from './contact-write.ts'
import { readPhoneRules } from './phone-rules.ts'

export const BROWSER_MAX_CONTACTS = 10

/** Reads contacts and a browser key's rights. Throws like `parseContactUpserts`, `readProofs`, `waitForRows`. */
export async function readUpserts(
  { db, cipher }: { db: Pool; cipher: Pick<Cipher, 'decrypt'> },
  caller: Caller,
  body: unknown,
): Promise<{ writes: ContactWrite[]; browser: BrowserRights[] | undefined }> {
  const { browser } = caller
  const most = browser === undefined ? UPSERT_MAX_CONTACTS : BROWSER_MAX_CONTACTS
  const bodies = Array.isArray(body) ? body.slice(0, most) : [body]
  // Oversized arrays must not wait before the refusal.
  if (bodies.length > SMALL_BATCH && Object(body).length <= most) await waitForRows(db, caller.companyId, bodies.length)
  const writes = await parseContactUpserts(body, await readPhoneRules(db, caller, bodies), most)
  if (browser === undefined) return { writes, browser: undefined }
  // Checking claims would reveal stored values to visitors.
  refuseClaims(writes.flatMap(({ claims = [] }) => claims))
  const { writableFields, identitySecret } = browser
  const secret = identitySecret === null ? null : cipher.decrypt(identitySecret)
  const proofs = readProofs(writes, secret, Array.isArray(body))
  return { writes, browser: proofs.map((proven) => ({ writableFields, proven })) }
}
