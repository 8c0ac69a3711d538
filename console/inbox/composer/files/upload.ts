import type { UploadedMedia } from '../../../../client/src/generated/schemas.ts'
import { ApiError, refusalOf } from '../../../client.ts'
import { API_PREFIX } from '../../../scope.ts'

/** Characters that the service takes of the name of a file. */
const MAX_NAME = 240

type Options = {
  /** The same key uploads the file once. */
  key: string
  /** Called with the part that has gone out, from 0 to 1. */
  onProgress: (part: number) => void
  signal: AbortSignal
}

/**
 * Uploads a file. It uses XMLHttpRequest, since `fetch` reports no progress of an upload.
 * @throws {ApiError} also when the signal ends it
 */
export function uploadFile(file: File, { key, onProgress, signal }: Options): Promise<UploadedMedia> {
  const request = new XMLHttpRequest()
  const query = new URLSearchParams({ filename: file.name.slice(-MAX_NAME) || 'file' })
  request.open('POST', `${API_PREFIX}/public/v1/whatsapp/media?${query}`)
  request.setRequestHeader('content-type', 'application/octet-stream')
  request.setRequestHeader('idempotency-key', key)
  request.upload.onprogress = ({ loaded, total }) => onProgress(total === 0 ? 0 : loaded / total)
  const answer = new Promise<UploadedMedia>((resolve, reject) => {
    request.onloadend = () => {
      const body = parse(request.responseText)
      if (request.status === 201 && body !== undefined) return resolve(body.data)
      if (request.status === 0 || request.status === 201) return reject(new ApiError('', { code: 'offline' }))
      reject(refusalOf(body, responseOf(request)))
    }
  })
  signal.addEventListener('abort', () => request.abort())
  request.send(file)
  return answer
}

function responseOf(request: XMLHttpRequest): Response {
  const headers = new Headers()
  for (const name of ['x-request-id', 'retry-after']) {
    const value = request.getResponseHeader(name)
    if (value !== null) headers.set(name, value)
  }
  return new Response(null, { status: request.status, headers })
}

function parse(text: string): { data: UploadedMedia } | undefined {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
