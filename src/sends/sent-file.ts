import { type FileKind, VOICE_TYPE } from '../media/uploads/file-type.ts'
import type { ProvidedFile, ProvideUpload, Provision } from '../media/uploads/provide-upload.ts'
import {
  type AppError,
  mediaNotFound,
  providerThrottled,
  serviceUnavailable,
  validationError,
} from '../platform/errors.ts'
import { memberOf } from '../platform/text/json-text.ts'
import { providerMessage } from '../providers/graph-answer.ts'
import type { Sender } from '../senders/sender.ts'
import type { ComponentInput } from '../templates/fill-components.ts'
import type { Interactive } from './content/interactive-shape.ts'
import type { SendContent } from './send-request.ts'

/** Content that may name an uploaded file. */
export type FileContent = Extract<SendContent, { type: 'template' | 'interactive' } | { source: unknown }>
type NamedFile = { path: string; mediaId: string; messageType: FileKind }

const HEADER_KINDS = ['image', 'video', 'document'] as const

/** Provides the uploaded file, if any, to the sender's provider; 404 unknown, 422 unsuitable, 429 or 503 from it. */
export async function provideFile(
  provide: ProvideUpload,
  companyId: number,
  sender: Sender,
  content: FileContent,
): Promise<ProvidedFile | undefined> {
  const named = fileNamedBy(content)
  if (named === undefined) return undefined
  const provision = await provide(companyId, sender, named)
  if (provision.kind === 'provided') {
    if (isVoiceNote(content) && provision.file.mimeType !== VOICE_TYPE) {
      throw validationError([
        {
          path: named.path,
          message: `names a file of the type ${provision.file.mimeType}; a voice note is ${VOICE_TYPE}`,
        },
      ])
    }
    return provision.file
  }
  throw toFault(provision, named)
}

function toFault(provision: Exclude<Provision, { kind: 'provided' }>, { path, messageType }: NamedFile): AppError {
  switch (provision.kind) {
    case 'missing':
      return mediaNotFound()
    case 'mismatch': {
      const { fileKind } = provision
      return validationError([{ path, message: `names a file of the kind ${fileKind}, not ${messageType}` }])
    }
    case 'refused':
      return validationError([{ path, message: `is refused by the provider: ${providerMessage(provision.error)}` }])
    case 'throttled':
      return providerThrottled(provision.retryAfterSeconds)
    case 'unavailable':
      return serviceUnavailable(
        `The file could not be given to the provider (${providerMessage(provision.error)}); nothing was sent`,
      )
  }
}

function fileNamedBy(content: FileContent): NamedFile | undefined {
  switch (content.type) {
    case 'template': {
      const place = content.components.findIndex(({ type }) => type === 'HEADER')
      const parameters = content.components[place]?.parameters ?? []
      const path = `template.components[${place}].parameters[0]`
      return parameters[0] && fileOfHeader(parameters[0], path)
    }
    case 'interactive': {
      const { header } = { header: undefined, ...content.interactive }
      return header && fileOfHeader(header, 'interactive.header')
    }
    default: {
      const { type, source } = content
      return 'mediaId' in source ? { path: 'media.mediaId', mediaId: source.mediaId, messageType: type } : undefined
    }
  }
}

const isVoiceNote = (content: FileContent): boolean => 'isVoice' in content && content.isVoice

function fileOfHeader(header: { readonly type: string }, path: string): NamedFile | undefined {
  const kind = HEADER_KINDS.find((one) => one === header.type)
  const upload = kind && uploadIn(header, kind)
  return upload && { path: `${path}.${kind}.mediaId`, mediaId: upload.mediaId, messageType: kind }
}

function uploadIn(header: object, kind: string): { mediaId: string } | undefined {
  const file = memberOf(header, kind)
  if (typeof file !== 'object' || file === null || !('mediaId' in file)) return undefined
  const { mediaId } = file
  return typeof mediaId === 'string' ? { ...file, mediaId } : undefined
}

function withProviderId<Header extends { readonly type: string }>(header: Header, file: ProvidedFile): Header {
  const kind = HEADER_KINDS.find((one) => one === header.type)
  const upload = kind && uploadIn(header, kind)
  if (kind === undefined || upload === undefined) return header
  const { mediaId: _, ...rest } = upload
  const named = kind === 'document' && file.filename !== null ? { filename: file.filename } : {}
  return { ...header, [kind]: { id: file.providerMediaId, ...named, ...rest } }
}

export function documentNameIn(header: object | undefined): string | null {
  const filename = memberOf(memberOf(header, 'document'), 'filename')
  return typeof filename === 'string' ? filename : null
}

export function toProviderInteractive(interactive: Interactive, file: ProvidedFile | undefined): object {
  const { header } = { header: undefined, ...interactive }
  return header && file ? { ...interactive, header: withProviderId(header, file) } : interactive
}

export const toProviderComponents = (
  components: readonly ComponentInput[],
  file: ProvidedFile | undefined,
): readonly ComponentInput[] =>
  file === undefined
    ? components
    : components.map((component) =>
        component.type === 'HEADER' && component.parameters
          ? { ...component, parameters: component.parameters.map((one) => withProviderId(one, file)) }
          : component,
      )
