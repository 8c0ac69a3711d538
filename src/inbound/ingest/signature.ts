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

/** The secrets of one number, in clear; null: it has none of this kind. A body must prove both that it has. */
export type NumberSecrets = { appSecret: string | null; webhookSecret: string | null }

/**
 * A body must prove one of the choices of every requirement: of a number there is one choice, of an account as many as
 * its numbers.
 */
export type RequiredSecrets = readonly (readonly NumberSecrets[])[]

/** What a body must prove, and the kind of thing that it names for it. */
export type Requirement = { readonly of: 'number' | 'account'; readonly choices: readonly NumberSecrets[] }

/** What a request brings to prove its body. An empty secret is none. */
export type Credentials = { signature: Buffer | null; secret: string | undefined }

/** The credentials of a request, and the secrets that its body has to prove. */
export type ProofInput = { credentials: Credentials; required: readonly Requirement[] }

/** The proof of a request. */
export const createProof = (rawBody: Buffer, { signature, secret }: Credentials): Proof => ({
  signature,
  secretMac: secret ? macOf(rawBody, secret) : null,
})

/** How many of its requirements a body proves. */
export type Proven = 'all' | 'some' | 'none'

/** Distinct secrets that a body which does not prove all is tried with: each may take a MAC over the whole body. */
const MOST_TRIED = 16

/**
 * Returns a request's proof and how many required secrets it proves. Nearly every body names its numbers' account, so a proven
 * account counts only if no number is unproven.
 */
export function prove(rawBody: Buffer, { credentials, required }: ProofInput): { proof: Proof; proven: Proven } {
  const proof = createProof(rawBody, credentials)
  if (
    isProven(
      rawBody,
      proof,
      required.map(({ choices }) => choices),
    )
  )
    return { proof, proven: 'all' }
  const isOne = createTrial(rawBody, proof, MOST_TRIED)
  const areProven = (of: Requirement['of']) =>
    required.filter((one) => one.of === of).map(({ choices }) => choices.some(isOne))
  const numbers = areProven('number')
  const isSome = numbers.length > 0 ? numbers.includes(true) : areProven('account').includes(true)
  return { proof, proven: isSome ? 'some' : 'none' }
}

/** Whether `prove` computes a MAC, the time of which grows with the body: up to 22 ms for 4 MiB. */
export const needsMac = ({ credentials: { signature, secret }, required }: ProofInput): boolean =>
  Boolean(secret) ||
  (signature !== null && required.some(({ choices }) => choices.some((one) => one.appSecret !== null)))

/**
 * Whether a body is signed with the app secret and came with the webhook secret of one choice of every requirement
 * (decisions: Provider-facing webhook). Constant time for each secret. An empty secret proves nothing. A body has one MAC of
 * each kind, so each secret is tried once, and the first requirement that fails ends it: those with few choices come first.
 */
export function isProven(rawBody: Buffer, proof: Proof, required: RequiredSecrets): boolean {
  const isOne = createTrial(rawBody, proof)
  return required.toSorted((one, other) => one.length - other.length).every((choices) => choices.some(isOne))
}

/** Makes the trial of a number's secrets; each secret is tried once, and at most `most` are. */
function createTrial(rawBody: Buffer, proof: Proof, most = Number.POSITIVE_INFINITY) {
  const tried = { signature: new Map<string, boolean>(), secretMac: new Map<string, boolean>() }
  const isProof = (kind: keyof Proof, secret: string | null): boolean => {
    if (secret === null) return true
    const known = tried[kind].get(secret)
    if (known !== undefined) return known
    const outcome = tried[kind].size < most && isMacOf(rawBody, proof[kind], secret)
    tried[kind].set(secret, outcome)
    return outcome
  }
  return ({ appSecret, webhookSecret }: NumberSecrets): boolean =>
    isProof('signature', appSecret) && isProof('secretMac', webhookSecret)
}

function isMacOf(rawBody: Buffer, mac: Buffer | null, secret: string): boolean {
  if (mac === null || secret === '') return false
  const expected = macOf(rawBody, secret)
  return mac.length === expected.length && timingSafeEqual(mac, expected)
}

const macOf = (rawBody: Buffer, secret: string): Buffer => createHmac('sha256', secret).update(rawBody).digest()
