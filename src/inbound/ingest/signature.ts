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

/** What a request brings to prove its body. An empty secret is none. */
export type Credentials = { signature: Buffer | null; secret: string | undefined }

/** The credentials of a request, and the secrets that its body has to prove. */
export type ProofInput = { credentials: Credentials; required: RequiredSecrets }

/** The proof of a request. */
export const createProof = (rawBody: Buffer, { signature, secret }: Credentials): Proof => ({
  signature,
  secretMac: secret ? macOf(rawBody, secret) : null,
})

/** The proof of a request, and whether it proves every secret that it has to. */
export function prove(rawBody: Buffer, { credentials, required }: ProofInput): { proof: Proof; isProven: boolean } {
  const proof = createProof(rawBody, credentials)
  return { proof, isProven: isProven(rawBody, proof, required) }
}

/** Whether `prove` computes a MAC, the time of which grows with the body: up to 22 ms for 4 MiB. */
export const needsMac = ({ credentials: { signature, secret }, required: { appSecrets } }: ProofInput): boolean =>
  Boolean(secret) || (signature !== null && appSecrets.length === 1)

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
