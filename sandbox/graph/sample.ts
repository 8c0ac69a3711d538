import { randomBytes } from 'node:crypto'
import { type Answer, jsonAnswer, type Received } from '../answer.ts'
import type { TemplateComponent } from '../world/template.ts'
import type { World } from '../world/world.ts'
import { type Refusal, refuse } from './graph-error.ts'

/** The types of which the provider takes samples. */
const TYPES = ['image/jpeg', 'image/png', 'video/mp4', 'application/pdf']
const FILE_FORMATS = ['IMAGE', 'VIDEO', 'DOCUMENT']

export const SESSION_PATH = /^\/(?:v\d+\.\d+\/)?(upload:[^/?]+)(?:\?.*)?$/

/** `POST /{app}/uploads`: a session for a file of this length and type. */
export function openSession({ samples }: World, query: URLSearchParams, trace: string): Answer {
  const length = Number(query.get('file_length'))
  const type = query.get('file_type') ?? ''
  if (!Number.isSafeInteger(length) || length < 1)
    return refuse({ code: 100, details: 'file_length is invalid' }, trace)
  if (!TYPES.includes(type)) return refuse({ code: 100, details: `file_type ${type} is not supported` }, trace)
  const name = `upload:${randomBytes(24).toString('base64url')}`
  samples.sessions.set(name, length)
  return jsonAnswer({ id: `${name}?sig=${randomBytes(6).toString('hex')}` })
}

/** `POST /{session}`: the file in one piece; the answer is the handle of the sample. */
export function takeSample({ samples }: World, session: string, { body, headers }: Received, trace: string): Answer {
  const length = samples.sessions.get(session)
  if (length === undefined) return refuse({ code: 100, details: 'The session does not exist' }, trace)
  if (headers.file_offset !== '0' || body.length !== length) {
    return refuse({ code: 100, details: 'The file is not complete' }, trace)
  }
  samples.sessions.delete(session)
  return jsonAnswer({ h: keepSample(samples) })
}

/** A handle of a new sample. */
export function keepSample({ handles }: World['samples']): string {
  const handle = `4::${randomBytes(18).toString('base64url')}`
  handles.add(handle)
  return handle
}

/** A header that is a file needs the handle of one sample. */
export function sampleRefusal({ samples }: World, components: readonly TemplateComponent[]): Refusal | undefined {
  const header = components.find(({ type, format }) => type === 'HEADER' && FILE_FORMATS.includes(format ?? ''))
  if (header === undefined) return undefined
  const { header_handle: handles } = Object(header.example) as { header_handle?: unknown[] }
  const [handle] = Array.isArray(handles) ? handles : []
  if (typeof handle === 'string' && samples.handles.has(handle)) return undefined
  return { code: 100, subcode: 2388273, details: 'The header needs a sample: header_handle is missing or invalid' }
}
