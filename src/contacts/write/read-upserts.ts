import type { Caller } from '../../http/admission/caller.ts'
import type { Cipher } from '../../secrets/secrets.ts'
import { readProofs } from '../identity-proof.ts'
import type { ContactWrite } from '../members/contact-record.ts'
import type { BrowserRights } from './browser-write.ts'
import { parseContactUpserts } from './contact-write.ts'

/** Most contacts in one call with a key for browsers. */
export const BROWSER_MAX_CONTACTS = 10

/**
 * The contacts that a body writes, and for a key for browsers what it may write of each.
 * @throws {AppError} as `parseContactUpserts` and `readProofs`
 */
export function readUpserts(
  { cipher }: { cipher: Pick<Cipher, 'decrypt'> },
  { browser }: Caller,
  body: unknown,
): { writes: ContactWrite[]; browser: BrowserRights[] | undefined } {
  if (browser === undefined) return { writes: parseContactUpserts(body), browser: undefined }
  const writes = parseContactUpserts(body, BROWSER_MAX_CONTACTS)
  const { writableFields, identitySecret } = browser
  const secret = identitySecret === null ? null : cipher.decrypt(identitySecret)
  const proofs = readProofs(writes, secret, Array.isArray(body))
  return { writes, browser: proofs.map((proven) => ({ writableFields, proven })) }
}
