import { mediaNotFound, unsupportedByTransport, validationError } from '../../platform/errors.ts'
import { memberOf } from '../../platform/text/json-text.ts'
import { providerMessage, unanswered } from '../../providers/graph-answer.ts'
import type { MediaFile, NewTemplate, Provider, SenderAccess, TemplateComponent } from '../../providers/provider.ts'
import type { ProviderName } from '../../providers/provider-name.ts'

export type OpenUpload = (companyId: number, mediaId: string) => Promise<{ kind: string; file: MediaFile } | undefined>

export const FILE_FORMATS: readonly string[] = ['IMAGE', 'VIDEO', 'DOCUMENT']

/** Returns the uploaded file used as header sample; undefined for none or a provider handle. */
function sampleIdOf({ type, example }: TemplateComponent): string | undefined {
  const mediaId = type === 'HEADER' ? memberOf(example, 'mediaId') : undefined
  return typeof mediaId === 'string' ? mediaId : undefined
}

/** Drops file samples, which are only for the review and replaced by the provider. */
export const withoutSamples = (components: readonly TemplateComponent[]): object[] =>
  components.map((component) => {
    const { example: _, ...rest } = component
    return FILE_FORMATS.includes(component.format ?? '') ? rest : component
  })

/** @throws {AppError} 404 for an unknown file; 422 if of another kind or refused; 429 if asked to wait; 503 */
export async function provideSample(
  open: OpenUpload,
  provider: Provider,
  companyId: number,
  sender: SenderAccess & { readonly provider: ProviderName },
  template: NewTemplate,
): Promise<NewTemplate> {
  const place = template.components.findIndex((component) => sampleIdOf(component) !== undefined)
  const header = template.components[place]
  const mediaId = header && sampleIdOf(header)
  if (header === undefined || mediaId === undefined) return template
  const upload = await open(companyId, mediaId)
  if (upload === undefined) throw mediaNotFound()
  const { kind, file } = upload
  const path = `components[${place}].example.mediaId`
  try {
    if (kind.toUpperCase() !== header.format)
      throw validationError([
        { path, message: `names a file of the kind ${kind}, not ${header.format?.toLowerCase()}` },
      ])
    const stored = await provider.uploadSample(sender, file)
    if (stored.kind === 'unsupported') throw unsupportedByTransport(path, 'a sample by its mediaId', sender.provider)
    if (stored.kind === 'failed') {
      if (file.body.errored) throw file.body.errored
      const message = providerMessage(stored.error)
      if (!stored.isRefused) throw unanswered(stored, 'The sample could not be given to the provider')
      throw validationError([{ path, message: `is refused by the provider: ${message}` }])
    }
    const example = { header_handle: [stored.value] }
    return { ...template, components: template.components.with(place, { ...header, example }) }
  } finally {
    file.body.destroy()
  }
}
