import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import { type Answer, jsonAnswer, type Received } from '../answer.ts'
import type { Clock } from '../clock.ts'
import type { IdMaker } from '../world/id-maker.ts'
import type { Media } from '../world/media-shelf.ts'
import { sha256Of } from '../world/sample-media.ts'
import type { World } from '../world/world.ts'
import { uploadRefusal } from './checks/media-check.ts'
import { objectMissing, type Refusal, refuse } from './graph-error.ts'

export type MediaDeps = { world: World; clock: Clock; ids: IdMaker }

export const MEDIA_PATH = '/whatsapp_business/attachments/'

/** A download address expires five minutes after it was returned. */
const ADDRESS_LIFE_MS = 5 * 60 * 1000

const addressKey = randomBytes(32)

/** `POST /{phone-number-id}/media`: a multipart form with `file`, or the bytes themselves under their own type. */
export async function uploadMedia(deps: MediaDeps, phoneNumberId: string, request: Received): Promise<Answer> {
  const file = await readFile(request)
  if (typeof file === 'string') return refuse({ code: 100, details: file }, deps.ids.trace())
  const refusal = isForm(request) ? refusalOf(deps.world, file) : undefined
  if (refusal) return refuse(refusal, deps.ids.trace())
  const id = deps.ids.number()
  deps.world.media.add({ id, phoneNumberId, sha256: sha256Of(file.bytes), ...file })
  return jsonAnswer({ id })
}

/** Bytes without a form are a file of any type, as customers send them. */
const isForm = ({ contentType = '' }: Pick<Received, 'contentType'>): boolean =>
  contentType.startsWith('multipart/form-data')

/** Why a file is not taken: as ordered, or by its type and size. */
export function refusalOf({ behaviour }: World, { mimeType, bytes }: UploadedFile): Refusal | undefined {
  const { refuseWithCode } = behaviour
  if (refuseWithCode !== null) return { code: refuseWithCode, details: 'Refused as ordered' }
  return uploadRefusal(mimeType, bytes.length)
}

export type UploadedFile = { mimeType: string; bytes: Buffer }

async function readFile({ contentType = '', body }: Received): Promise<UploadedFile | string> {
  if (!isForm({ contentType })) {
    if (body.length === 0 || !contentType.includes('/')) return 'The parameter file is required'
    return { mimeType: contentType, bytes: body }
  }
  const form = await readForm(contentType, body)
  if (form === undefined) return 'The form cannot be read'
  if (form.get('messaging_product') !== 'whatsapp') return 'The parameter messaging_product is required'
  const file = form.get('file')
  if (file === null || typeof file === 'string') return 'The parameter file is required'
  const type = form.get('type')
  return { mimeType: typeof type === 'string' ? type : file.type, bytes: Buffer.from(await file.arrayBuffer()) }
}

/** The fields of a form; undefined when the body is none. */
export async function readForm(contentType: string, body: Buffer): Promise<FormData | undefined> {
  try {
    return await new Response(new Uint8Array(body), { headers: { 'content-type': contentType } }).formData()
  } catch {
    return undefined
  }
}

/** `GET /{media-id}`: what it is, and an address good for five minutes, with the bearer. */
export function readMedia(deps: MediaDeps, media: Media, query: URLSearchParams, base: string): Answer {
  const owner = query.get('phone_number_id')
  if (owner !== null && owner !== media.phoneNumberId) return objectMissing('get', media.id, deps.ids.trace())
  const expiresAt = String(deps.clock.now().getTime() + ADDRESS_LIFE_MS)
  return jsonAnswer({
    messaging_product: 'whatsapp',
    url: `${base}${MEDIA_PATH}?mid=${media.id}&ext=${expiresAt}&hash=${hashOf(media.id, expiresAt)}`,
    mime_type: media.mimeType,
    sha256: media.sha256,
    file_size: media.bytes.length,
    id: media.id,
  })
}

/** The bytes behind an address that `readMedia` gave out; 404 when it has died. */
export function downloadMedia({ world, clock }: MediaDeps, query: URLSearchParams): Answer {
  const id = query.get('mid') ?? ''
  const expiresAt = query.get('ext') ?? ''
  const media = world.media.find(id)
  const alive = isGenuine(query.get('hash') ?? '', hashOf(id, expiresAt)) && clock.now().getTime() <= Number(expiresAt)
  if (media === undefined || !alive) return { status: 404, contentType: 'text/plain', body: 'Not Found' }
  return { status: 200, contentType: media.mimeType, body: media.bytes }
}

const hashOf = (id: string, expiresAt: string): string =>
  createHmac('sha256', addressKey).update(`${id} ${expiresAt}`).digest('base64url')

const isGenuine = (received: string, expected: string): boolean =>
  received.length === expected.length && timingSafeEqual(Buffer.from(received), Buffer.from(expected))
