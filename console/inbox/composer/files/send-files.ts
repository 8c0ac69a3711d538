import type { MessageContent, UploadedMedia } from '../../../../client/src/generated/schemas.ts'
import { ApiError } from '../../../client.ts'
import { faultText } from '../../../parts/feedback/failure-text.ts'
import { fileText } from '../../../texts/files.ts'
import {
  add,
  deliver,
  discard,
  findOutgoing,
  isKnown,
  type Outgoing,
  sendAgain,
  sendMessage,
  showProgress,
  update,
} from '../outbox.ts'
import { attachedFile, loadAttached } from './attached.ts'
import type { Attached } from './file-store.ts'
import { uploadFile } from './upload.ts'

type Sending = {
  chatId: number
  files: readonly Attached[]
  /** Goes below the first file. */
  caption: string
  afterId: number
  sendAt?: string | undefined
}

/** The last work of each conversation: its files go one after the other, in their order. */
const lines = new Map<number, Promise<void>>()
const uploads = new Map<string, AbortController>()
const WAIT_MS = 2_000

/** Sends each file as a message of its own. */
export function sendFiles({ chatId, files, caption, afterId, sendAt }: Sending): void {
  for (const [index, { key, file }] of files.entries()) {
    if (isKnown(key)) continue
    const message = add({
      key,
      chatId,
      content: null,
      shownText: index === 0 ? caption : '',
      file: { name: file.name, ...(sendAt !== undefined && { sendAt }) },
      at: Date.now(),
      afterId,
      state: 'uploading',
    })
    enqueue(message)
  }
}

/** Uploads the file of a message, and sends it, after those before it. */
export function enqueue(message: Outgoing): void {
  const { chatId } = message
  const work = async () => {
    const uploaded = await upload(message)
    if (uploaded !== undefined) await send(message, uploaded)
  }
  lines.set(chatId, (lines.get(chatId) ?? Promise.resolve()).then(work))
}

export function cancelUpload(key: string): void {
  uploads.get(key)?.abort()
  discard(key)
}

/** Tries a message that failed again: its upload with the same key, or a refused send with another. */
export function tryAgain(message: Outgoing): void {
  if (message.content !== null) return void sendAgain(message)
  const again: Outgoing = { ...message, at: Date.now(), state: 'uploading' }
  update(message.key, { at: again.at, state: again.state, progress: 0 })
  enqueue(again)
}

/** The file at the service; undefined when it was cancelled, or its upload failed. */
async function upload({ key }: Outgoing): Promise<UploadedMedia | undefined> {
  await loadAttached()
  const file = attachedFile(key)
  // Cancelled while it waited.
  if (findOutgoing(key) === undefined) return undefined
  if (file === undefined) {
    update(key, { state: 'failed', fault: fileText.lost, canRetry: false })
    return undefined
  }
  const controller = new AbortController()
  uploads.set(key, controller)
  const { signal } = controller
  while (!signal.aborted) {
    try {
      const uploaded = await uploadFile(file, { key, signal, onProgress: (part) => showProgress(key, part) })
      uploads.delete(key)
      return uploaded
    } catch (error) {
      const fault = error instanceof ApiError ? error : new ApiError('')
      if (signal.aborted) return undefined
      if (fault.status !== 429 && fault.code !== 'idempotency_key_in_use') return failUpload(key, fault)
      await new Promise((resolve) => setTimeout(resolve, (fault.retryAfter ?? 0) * 1_000 || WAIT_MS))
    }
  }
  return undefined
}

function failUpload(key: string, fault: ApiError): undefined {
  const isPassing = fault.status === 0 || fault.status >= 500
  update(key, { state: 'failed', fault: `${fileText.uploadFailed}. ${faultText(fault)}`, canRetry: isPassing })
}

/** Sends an uploaded file. A text that its kind cannot carry follows as a message of its own. */
async function send(message: Outgoing, { mediaId, kind }: UploadedMedia): Promise<void> {
  const { key, chatId, shownText, afterId, file } = message
  const isCaptioned = kind !== 'audio' && kind !== 'sticker'
  const at = file?.sendAt === undefined ? {} : { sendAt: file.sendAt }
  const caption = isCaptioned && shownText !== '' ? { caption: shownText } : {}
  const content: MessageContent = { type: kind, media: { mediaId, ...caption }, ...at }
  const sending = { content, shownText: isCaptioned ? shownText : '', state: 'sending' } as const
  update(key, sending)
  await deliver({ ...message, ...sending })
  if (isCaptioned || shownText === '') return
  const text: MessageContent = { type: 'text', text: shownText, ...at }
  await sendMessage({ key: `${key}-text`, chatId, content: text, shownText, afterId })
}
