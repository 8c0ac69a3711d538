import { readAnswer, readValue } from '../graph-answer.ts'
import { text } from '../graph-error.ts'
import type { Fetched, MediaFile, SenderAccess } from '../provider.ts'
import type { ProviderApi } from '../provider-api.ts'

/** Stands for the app of the credential. */
const OWN_APP = 'app'
/** An id of a session, which has a query of its own. */
const SESSION = /^upload:[!-~]{1,4000}$/

/** Uploads a sample in one piece, in a session of Meta's resumable uploads; answers its handle. */
export async function uploadSample(
  api: Pick<ProviderApi, 'change' | 'uploadBytes'>,
  access: SenderAccess,
  file: MediaFile,
): Promise<Fetched<string>> {
  const described = new URLSearchParams({ file_length: String(file.sizeBytes), file_type: file.mimeType })
  const opened = readAnswer(await api.change(access, 'POST', `${access.appId ?? OWN_APP}/uploads?${described}`))
  const session = readValue(opened, ({ id }) => (SESSION.test(String(id)) ? String(id) : undefined))
  if (session.kind === 'failed') return session
  const headers = { authorization: `OAuth ${access.accessToken}`, file_offset: '0' }
  return readValue(await api.uploadBytes(access, session.value, file, headers), ({ h }) => text(h) ?? undefined)
}
