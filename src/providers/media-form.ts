import type { MediaFile } from './provider.ts'

/** Longer than other calls: files have up to 100 MB. */
export const UPLOAD_TIMEOUT_MS = 60_000

/** A file and what goes with it as a multipart form, ready to be sent. */
export async function toMediaForm(
  fields: Record<string, string>,
  { bytes, mimeType, filename }: MediaFile,
): Promise<{ contentType: string; body: Buffer }> {
  const form = new FormData()
  for (const [name, value] of Object.entries(fields)) form.set(name, value)
  form.set('file', new File([new Uint8Array(bytes)], filename, { type: mimeType }))
  const written = new Response(form)
  return {
    contentType: written.headers.get('content-type') ?? 'multipart/form-data',
    body: Buffer.from(await written.arrayBuffer()),
  }
}
