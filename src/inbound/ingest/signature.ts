import { createHmac, timingSafeEqual } from 'node:crypto'

/** HMAC-SHA256 values over the raw body, kept so that they can be checked once the number is connected. */
export type Proof = {
  /** Made by the provider with the app secret. */
  signature: Buffer | null
  /** Made here with the request's webhook secret, which must not be stored. */
  secretMac: Buffer | null
}

export const UNPROVEN: Proof = { signature: null, secretMac: null }

/** A number's decrypted secrets. A body must prove both if set. */
export type NumberSecrets = { appSecret: string | null; webhookSecret: string | null }

export type SealedSecrets = { appSecret: string | null; webhookSecret: string | null }

export const openSecrets = (rows: readonly SealedSecrets[], decrypt: (sealed: string) => string): NumberSecrets[] =>
  rows.map(({ appSecret, webhookSecret }) => ({
    appSecret: appSecret === null ? null : decrypt(appSecret),
    webhookSecret: webhookSecret === null ? null : decrypt(webhookSecret),
  }))

/** A body must prove one choice per requirement: numbers have one choice, accounts one per number. */
export type RequiredSecrets = readonly (readonly NumberSecrets[])[]

export type Requirement = { readonly of: 'number' | 'account'; readonly choices: readonly NumberSecrets[] }

export type Credentials = { signature: Buffer | null; secret: string | undefined }

export type ProofInput = { credentials: Credentials; required: readonly Requirement[] }

/** Computes a request's proof. */
export const createProof = (rawBody: Buffer, { signature, secret }: Credentials): Proof => ({
  signature,
  secretMac: secret ? macOf(rawBody, secret) : null,
})

export type Proven = 'all' | 'some' | 'none'

/** Distinct secrets tried per failing body: each may take a MAC over the whole body. */
const MOST_TRIED = 16

/**
 * Returns the proof and how many secrets it proves. Proven accounts count only if every number is proven, since nearly
 * all bodies include their numbers' account.
 */
export function prove(rawBody: Buffer, { credentials, required }: ProofInput): { proof: Proof; proven: Proven } {
  const proof = createProof(rawBody, credentials)
  const choices = required.map((one) => one.choices)
  if (isProven(rawBody, proof, choices)) return { proof, proven: 'all' }
  const isOne = createTrial(rawBody, proof, MOST_TRIED)
  const areProven = (of: Requirement['of']) =>
    required.filter((one) => one.of === of).map((one) => one.choices.some(isOne))
  const numbers = areProven('number')
  const isSome = numbers.length > 0 ? numbers.includes(true) : areProven('account').includes(true)
  return { proof, proven: isSome ? 'some' : 'none' }
}

/** Returns whether `prove` computes a MAC, which takes up to 22 ms for 4 MiB. */
export const needsMac = ({ credentials: { signature, secret }, required }: ProofInput): boolean =>
  Boolean(secret) ||
  (signature !== null && required.some(({ choices }) => choices.some((one) => one.appSecret !== null)))

/**
 * Returns whether a body proves one choice per requirement (decisions: Provider-facing webhook). Must take constant
 * time per secret; empty secrets prove nothing. Short requirements come first, because each secret costs a MAC.
 */
export function isProven(rawBody: Buffer, proof: Proof, required: RequiredSecrets): boolean {
  const isOne = createTrial(rawBody, proof)
  return required.toSorted((one, other) => one.length - other.length).every((choices) => choices.some(isOne))
}

/** Tries each secret once, up to `most`. */
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
