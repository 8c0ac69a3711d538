import type { Readable } from 'node:stream'
import type { Dispatcher } from 'undici'
import { type Exchange, exchange } from '../platform/outgoing/exchange.ts'
import { type Reading, readAnswer, readReceiptAnswer, readSendAnswer } from './graph-answer.ts'
import { toMediaForm, UPLOAD_TIMEOUT_MS } from './media-form.ts'
import type { Fetched, MediaFile, ReceiptOutcome, SenderAccess, SendOutcome } from './provider.ts'

type ApiConventions = {
  addressOf: (access: SenderAccess, path: string) => string
  credentialOf: (access: SenderAccess) => Record<string, string>
  reading?: Reading
}

export type ProviderApi = {
  get: (access: SenderAccess, path: string) => Promise<Fetched<Record<string, unknown>>>
  change: (
    access: SenderAccess,
    method: 'POST' | 'PUT' | 'DELETE',
    path: string,
    body?: object | URLSearchParams,
  ) => Promise<Exchange>
  send: (access: SenderAccess, path: string, body: string) => Promise<SendOutcome>
  sendReceipt: (access: SenderAccess, path: string, receipt: object) => Promise<ReceiptOutcome>
  upload: (
    access: SenderAccess,
    path: string,
    file: MediaFile,
    fields: Record<string, string>,
  ) => Promise<Fetched<Record<string, unknown>>>
  /** Uploads raw bytes; `headers` replace the credential's. */
  uploadBytes: (
    access: SenderAccess,
    path: string,
    file: MediaFile,
    headers: Record<string, string>,
  ) => Promise<Fetched<Record<string, unknown>>>
}

export function createProviderApi(
  { dispatcher, timeoutMs }: { dispatcher: Dispatcher; timeoutMs: number },
  { addressOf, credentialOf, reading = {} }: ApiConventions,
): ProviderApi {
  const post = (access: SenderAccess, path: string, body: string) =>
    exchange(dispatcher, {
      method: 'POST',
      url: addressOf(access, path),
      headers: { ...credentialOf(access), 'content-type': 'application/json' },
      body,
      timeoutMs,
    })

  const postFile = (access: SenderAccess, path: string, headers: Record<string, string>, body: Readable) =>
    exchange(dispatcher, {
      method: 'POST',
      url: addressOf(access, path),
      headers: { ...credentialOf(access), ...headers },
      body,
      timeoutMs: UPLOAD_TIMEOUT_MS,
    })

  return {
    get: async (access, path) => {
      const [url, headers] = [addressOf(access, path), credentialOf(access)]
      return readAnswer(await exchange(dispatcher, { method: 'GET', url, headers, timeoutMs }), reading)
    },
    change: (access, method, path, body) => {
      const isForm = body instanceof URLSearchParams
      const contentType = isForm ? 'application/x-www-form-urlencoded' : 'application/json'
      return exchange(dispatcher, {
        method,
        url: addressOf(access, path),
        headers: { ...credentialOf(access), ...(body && { 'content-type': contentType }) },
        ...(body && { body: isForm ? body.toString() : JSON.stringify(body) }),
        timeoutMs,
      })
    },
    send: async (access, path, body) => readSendAnswer(await post(access, path, body), reading),
    sendReceipt: async (access, path, receipt) =>
      readReceiptAnswer(await post(access, path, JSON.stringify(receipt)), reading),
    upload: async (access, path, file, fields) => {
      const form = toMediaForm(fields, file)
      return readAnswer(await postFile(access, path, form.headers, form.body), reading)
    },
    uploadBytes: async (access, path, { body, sizeBytes, mimeType }, headers) => {
      const described = { 'content-type': mimeType, 'content-length': String(sizeBytes), ...headers }
      return readAnswer(await postFile(access, path, described, body), reading)
    },
  }
}

/** Returns whether an id is safe as a path segment. */
export const isMediaId = (id: string): boolean => /^[A-Za-z0-9_-]{1,256}$/.test(id)
