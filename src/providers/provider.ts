import type { Readable } from 'node:stream'
import type { ProviderName } from './provider-name.ts'

export type SenderAccess = {
  readonly phoneNumberId: string
  readonly wabaAccountId: string
  readonly accessToken: string
  /** Null: the provider's public address. */
  readonly apiBaseUrl: string | null
  readonly appId: string | null
}

/** Unknown members are null. */
export type ProviderNumber = {
  phoneNumberId: string | null
  wabaAccountId: string | null
  appId: string | null
  phoneNumber: string | null
  phoneName: string | null
  /** Also used in the phone app, which lowers its limits. */
  isSharedWithApp: boolean
}

/** Can be read once. */
export type MediaFile = { body: Readable; sizeBytes: number; mimeType: string }

type WebhookPlace = { url: string; verifyToken: string | undefined; hasSecret: boolean }

/** `other`: nothing a caller can act upon. */
export type RefusalReason =
  | 'not_on_whatsapp'
  | 'window_closed'
  | 'parameter_mismatch'
  | 'template_not_found'
  | 'template_not_approved'
  | 'invalid_parameter'
  /** The account may not use the marketing address, or not with this template. Nothing was sent. */
  | 'marketing_address'
  | 'category'
  | 'unsupported'
  | 'invalid_number'
  | 'recipient'
  | 'request'
  | 'unavailable'
  | 'other'

export type ProviderError = { code: number | null; title: string; details: string | null }

export type SendOutcome =
  | {
      kind: 'accepted'
      wamid: string | null
      providerMessageId: string | null
      /** Recipient as parsed by the provider. */
      input: string | null
      waId: string | null
      userId: string | null
    }
  | { kind: 'refused'; reason: RefusalReason; error: ProviderError }
  | { kind: 'throttled'; retryAfterSeconds: number; error: ProviderError }
  /** Nothing was sent; safe to retry. */
  | { kind: 'unreachable'; error: ProviderError }
  /** May have been sent. Must not be retried. */
  | { kind: 'unknown'; error: ProviderError }

export type SendFailure = Exclude<SendOutcome, { kind: 'accepted' }>

export type ReceiptOutcome = { kind: 'taken' } | SendFailure

/** Unknown members are null. */
export type ProviderTemplate = {
  externalId: string | null
  name: string
  language: string
  status: string
  category: string
  parameterFormat: 'POSITIONAL' | 'NAMED'
  components: readonly TemplateComponent[]
  qualityScore: Record<string, unknown> | null
  rejectedReason: string
  namespace: string | null
  partnerId: string | null
  createdBy: Record<string, unknown> | null
  modifiedBy: Record<string, unknown> | null
  /** Delivery timeout; null for the provider's default. */
  ttlSeconds: number | null
  /** Record members in our API's format; null for providers with another format. */
  passedOn: PassedOn | null
}

export type PassedOn = {
  waba_account_id?: string
  created_at?: string
  modified_at?: string
  updated_external?: boolean
}

export type NewTemplate = {
  name: string
  language: string
  category: string
  parameterFormat: 'POSITIONAL' | 'NAMED'
  components: readonly TemplateComponent[]
  /** Undefined keeps the current value. */
  ttlSeconds: number | undefined
}

export type Unsupported = { kind: 'unsupported'; part: 'category' | 'ttlSeconds' | 'sample' | 'components' }

export type TemplateReceipt = { externalId: string | null; status: string; category: string }

/** Passed on unchanged; only these members are read. */
export type TemplateComponent = {
  readonly type: string
  readonly format?: string
  readonly text?: string
  readonly buttons?: readonly TemplateButton[]
  readonly [member: string]: unknown
}

export type TemplateButton = {
  readonly type: string
  readonly text?: string
  readonly url?: string
  readonly [member: string]: unknown
}

export type Fetched<T> =
  | { kind: 'fetched'; value: T }
  /** `isRefused`: refused, neither unreachable nor throttled. `isDenied`: the credential was refused. */
  | { kind: 'failed'; isRefused: boolean; isDenied: boolean; retryAfterSeconds: number | null; error: ProviderError }

export type MediaOutcome =
  | {
      kind: 'fetched'
      mimeType: string | null
      sizeBytes: number | null
      sha256: string | null
      /** Must be read to the end or destroyed. */
      body: Readable
    }
  /** Also returned for a missing permission. */
  | { kind: 'gone' }
  | { kind: 'throttled'; retryAfterSeconds: number }
  | { kind: 'failed'; error: ProviderError }

export type OutboundMessage = {
  /** Digits, or a user id. */
  recipient: string
  content: OutboundContent
  reference: string
  quotedWamid: string | null
  /** Null: needs an open window or a template. */
  directSend: DirectSend | null
}

/** `ttlSeconds` is the delivery timeout. */
export type DirectSend = { category: 'utility' | 'authentication'; ttlSeconds: number | undefined }

export type SendAddress = 'messages' | 'marketing'

export type OutboundContent =
  | { type: 'text'; text: string; previewUrl?: boolean | undefined }
  | {
      type: 'image' | 'video' | 'audio' | 'document' | 'sticker'
      source: { link: string } | { providerMediaId: string }
      caption?: string | undefined
      filename?: string | undefined
      isVoice?: boolean
    }
  | { type: 'template'; name: string; language: string; components: readonly object[] }
  | { type: 'interactive' | 'location'; value: object }
  | { type: 'contacts'; value: readonly object[] }
  /** A null emoji removes the reaction. */
  | { type: 'reaction'; targetWamid: string; emoji: string | null }

/** The port to WhatsApp providers. Provider failures are values, never exceptions. */
export type Provider = {
  toWire(message: OutboundMessage): string
  /** Sends a `toWire` body. One attempt, within the provider deadline. */
  send(access: SenderAccess, body: string, address?: SendAddress): Promise<SendOutcome>
  /** Null if the provider does not report terms. */
  readMarketingTerms(access: SenderAccess): Promise<Fetched<boolean | null>>
  /** Marks this and earlier messages as read; `isTyping` shows the indicator for 25 s or until the reply. */
  markRead(access: SenderAccess, wamid: string, isTyping: boolean): Promise<ReceiptOutcome>
  listTemplates(access: SenderAccess): Promise<Fetched<ProviderTemplate[]>>
  createTemplate(access: SenderAccess, template: NewTemplate): Promise<Fetched<TemplateReceipt> | Unsupported>
  /** Triggers a new review. */
  editTemplate(
    access: SenderAccess,
    externalId: string | null,
    template: NewTemplate,
  ): Promise<Fetched<null> | Unsupported>
  uploadSample(access: SenderAccess, file: MediaFile): Promise<Fetched<string> | Unsupported>
  deleteTemplate(access: SenderAccess, name: string): Promise<Fetched<null>>
  listNumbers(access: SenderAccess): Promise<Fetched<ProviderNumber[]>>
  uploadMedia(access: SenderAccess, file: MediaFile): Promise<Fetched<string>>
  /** `signal` also aborts reading the body. */
  fetchMedia(access: SenderAccess, mediaId: string, signal: AbortSignal): Promise<MediaOutcome>
  /** Returns one line with the settings to enter at the provider. */
  webhookSteps(place: WebhookPlace): string
  /** Whether the provider verifies the token before registering the webhook. */
  makesHandshake: boolean
  /** Returns the app id used in events; null without apps. */
  appIdOf(access: SenderAccess): string | null
}

export type Providers = Readonly<Partial<Record<ProviderName, Provider>>>
