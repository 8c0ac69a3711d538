import { createHmac, timingSafeEqual } from 'node:crypto'

/**
 * The values that came with a body to prove its origin: HMAC-SHA256 values over its raw bytes, so that it can be checked later, too,
 * when its number is connected.
 */
export type Proof = {
  /** Made by the provider with the app secret. */
  signature: Buffer | null
  /** Made here with the webhook secret that the request brought: the secret itself is not stored. */
  secretMac: Buffer | null
}

/** Nothing came along. */
export const UNPROVEN: Proof = { signature: null, secretMac: null }

/** Secrets in clear: a body must prove every one of them. */
export type RequiredSecrets = { appSecrets: readonly string[]; webhookSecrets: readonly string[] }

/** The proof of a request. An empty secret is none. */
export const createProof = (
  rawBody: Buffer,
  input: { signature: Buffer | null; secret: string | undefined },
): Proof => ({
  signature: input.signature,
  secretMac: input.secret ? macOf(rawBody, input.secret) : null,
})

/**
 * Whether a body is signed with every app secret and came with every webhook secret (decisions: Provider-facing webhook).
 * Constant time. An empty secret proves nothing. A body has one MAC of each kind, so it proves at most one secret of each:
 * a body that names many senders costs no more than one that names one.
 */
export const isProven = (rawBody: Buffer, proof: Proof, required: RequiredSecrets): boolean =>
  isProof(rawBody, proof.signature, required.appSecrets) && isProof(rawBody, proof.secretMac, required.webhookSecrets)

const isProof = (rawBody: Buffer, mac: Buffer | null, secrets: readonly string[]): boolean =>
  secrets.length <= 1 && secrets.every((secret) => isMacOf(rawBody, mac, secret))

function isMacOf(rawBody: Buffer, mac: Buffer | null, secret: string): boolean {
  if (mac === null || secret === '') return false
  const expected = macOf(rawBody, secret)
  return mac.length === expected.length && timingSafeEqual(mac, expected)
}

const macOf = (rawBody: Buffer, secret: string): Buffer => createHmac('sha256', secret).update(rawBody).digest()
