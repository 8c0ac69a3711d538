import { createHmac, timingSafeEqual } from 'node:crypto'
import { createCache } from '../../platform/cache.ts'
import type { InboundItem, ParsedInbound } from '../../providers/events/event-item.ts'
import type { EventReader } from '../../providers/events/event-reader.ts'
import type { Proof, StoredEvent } from '../event-store.ts'

/** Larger bodies are read on a thread. Up to this size reading takes a few milliseconds, whatever the content. */
const MOST_BYTES_HERE = 64 * 1024
/** Large bodies are read again for each of their transactions. */
export const REMEMBERED = { max: 8 * 1024 * 1024, ttlMs: 10_000 }

/** A large body moves to the thread, leaving the caller's Buffer empty. Undefined if the thread died. */
type Found<What> = (What & { body: Buffer }) | undefined
type FoundIds = Found<{ ids: ReadonlySet<string> | undefined }>
type ProvenBody = Found<{ proof: Proof; proven: Proven }>

export type BodyReader = {
  findIds(body: Buffer): FoundIds | Promise<FoundIds>
  prove(body: Buffer, input: ProofInput): ProvenBody | Promise<ProvenBody>
  /** Bodies too slow to read are unreadable. */
  open(event: StoredEvent, room: number): OpenedBody | Promise<OpenedBody>
  /** Returns one JSON text per group, or the whole body where an item can't be cut out. */
  cut(event: StoredEvent, groups: readonly (readonly InboundItem[])[]): Buffer[] | Promise<Buffer[]>
  remember(eventId: number, body: Buffer): void
  remembered(): ReadonlyMap<number, Buffer>
}

/** Reads small bodies on this thread and large ones on another, so that they never block requests. */
export function createBodyReader(
  reader: Pick<EventReader, 'parse' | 'idsOf'>,
  thread: Pick<BodyReader, 'findIds' | 'prove' | 'open' | 'cut'>,
): BodyReader {
  const remembered = createCache<number, Buffer>({
    name: 'large_events',
    sizeOf: ({ length }) => length,
    ...REMEMBERED,
  })
  const isSmall = (body: Buffer): boolean => body.length <= MOST_BYTES_HERE
  const remember = (eventId: number, body: Buffer): void => {
    if (!isSmall(body)) remembered.set(eventId, toShared(body))
  }
  const openLarge = async (event: StoredEvent, room: number): Promise<OpenedBody> => {
    const body = toShared(event.body)
    const opened = await thread.open({ ...event, body }, room)
    if (opened.kind === 'items' && opened.next !== null) remember(event.id, body)
    else remembered.drop(event.id)
    return opened
  }
  return {
    findIds: (body) => (isSmall(body) ? { body, ids: reader.idsOf(body) } : thread.findIds(body)),
    prove: (body, input) =>
      isSmall(body) || !needsMac(input) ? { body, ...prove(body, input) } : thread.prove(body, input),
    open: (event, room) => {
      if (isSmall(event.body)) return openBody(reader.parse(event.body), event, room)
      return openLarge(event, room)
    },
    remember,
    remembered: () => new Map(remembered.entries()),
    cut: (event, groups) => {
      if (isSmall(event.body)) return groups.map((items) => toBuffer(event, cutText(items)))
      return thread.cut(event, groups)
    },
  }
}

/** Shares memory with the thread: copying 4 MiB blocks this thread for up to 50 ms each time. */
function toShared(body: Buffer): Buffer {
  if (body.buffer instanceof SharedArrayBuffer) return body
  const shared = Buffer.from(new SharedArrayBuffer(body.length))
  body.copy(shared)
  return shared
}

export const toBuffer = ({ body }: StoredEvent, text: string | null): Buffer =>
  text === null ? body : Buffer.from(text)

/** Returns the items' JSON as one text; null if they can't be cut out. */
export function cutText([first, ...others]: readonly InboundItem[]): string | null {
  try {
    return first?.raw(others) ?? null
  } catch {
    return null
  }
}

export type BodyPart = Pick<StoredEvent, 'part' | 'others' | 'done'>

export type Indexed<Item = InboundItem> = { item: Item; index: number }

export type OpenedBody<Item = InboundItem> =
  | { kind: 'unreadable'; reason: string }
  | {
      kind: 'items'
      taken: Indexed<Item>[]
      unreadable: (Indexed<Item> & { reason: string })[]
      next: number | null
    }

/** Takes up to `room` items to handle. */
export function openBody(parsed: ParsedInbound, event: BodyPart, room: number): OpenedBody {
  if (parsed.kind === 'unreadable') return parsed
  const own = parsed.items.filter(({ route }) =>
    belongsToPart(event, route.by === 'sender' ? route.phoneNumberId : null),
  )
  const opened = { kind: 'items' as const, taken: [] as Indexed[], unreadable: [] as (Indexed & { reason: string })[] }
  for (const [index, item] of own.entries()) {
    if (index < event.done || item.kind === 'ignored') continue
    if (item.kind === 'unreadable-item') opened.unreadable.push({ item, index, reason: item.reason })
    else if (opened.taken.length === room) return { ...opened, next: index }
    else opened.taken.push({ item, index })
  }
  return { ...opened, next: null }
}

/** Returns whether an event has the items of a number. */
export const belongsToPart = (
  event: { part: string; others: readonly string[] },
  phoneNumberId: string | null,
): boolean => phoneNumberId === event.part || (event.others[0] !== '*' && !event.others.includes(phoneNumberId ?? ''))

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

type Proven = 'all' | 'some' | 'none'

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
const needsMac = ({ credentials: { signature, secret }, required }: ProofInput): boolean =>
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
