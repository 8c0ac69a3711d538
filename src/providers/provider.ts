import type { Readable } from 'node:stream'
import type { ProviderName } from './provider-name.ts'

/**
 * The port to WhatsApp providers. The body of a send is the same JSON on all of them; an adapter knows addresses,
 * credentials and how answers read. Failures of a provider are values here, never exceptions.
 */
/** A sender as its adapter needs it. */
export type SenderAccess = {
  readonly phoneNumberId: string
  readonly wabaAccountId: string
  readonly accessToken: string
  /** The base of the provider's paths; null: the provider's public address. */
  readonly apiBaseUrl: string | null
  /** The provider's app that holds the number, where it has such. */
  readonly appId: string | null
}

/** A number as its provider lists it; members that it does not return are null. */
export type ProviderNumber = {
  phoneNumberId: string | null
  wabaAccountId: string | null
  /** Of the app that answered. */
  appId: string | null
  /** As displayed. */
  phoneNumber: string | null
  phoneName: string | null
  /** Also used in the phone app, which lowers what the number may send. */
  isSharedWithApp: boolean
}

/** A file that is read while it is sent, once. */
export type MediaFile = { body: Readable; sizeBytes: number; mimeType: string }

/** Where the provider is to post its events. */
type WebhookPlace = { url: string; verifyToken: string | undefined; hasSecret: boolean }

/** Why a provider refused; `other` is everything that no caller can act upon. */
export type RefusalReason =
  | 'not_on_whatsapp'
  | 'window_closed'
  | 'parameter_mismatch'
  | 'template_not_found'
  | 'template_not_approved'
  | 'invalid_parameter'
  /** Of the address for marketing: the account may not use it, or not with this template. Nothing was sent. */
  | 'marketing_address'
  /** Of the category of a message without a template. */
  | 'category'
  /** Of the type of a message, or of a receipt. */
  | 'unsupported'
  /** Of the recipient's number as such, or of this recipient. */
  | 'invalid_number'
  | 'recipient'
  /** Of another part of the request, for the reason in the provider's text. */
  | 'request'
  | 'unavailable'
  | 'other'

/** The provider's message about a failure, stored with the message. */
export type ProviderError = { code: number | null; title: string; details: string | null }

export type SendOutcome =
  | {
      kind: 'accepted'
      wamid: string | null
      /** Where the provider answers with an id of its own and reports the wamid later. */
      providerMessageId: string | null
      /** The recipient as the provider read it from the send. */
      input: string | null
      /** The customer's number as the provider knows it; may differ from `input`. */
      waId: string | null
      userId: string | null
    }
  | { kind: 'refused'; reason: RefusalReason; error: ProviderError }
  | { kind: 'throttled'; retryAfterSeconds: number; error: ProviderError }
  /** Nothing was sent, for sure: safe to repeat. */
  | { kind: 'unreachable'; error: ProviderError }
  /** The request went out and no answer came: it may have been sent. Never repeated by us. */
  | { kind: 'unknown'; error: ProviderError }

export type SendFailure = Exclude<SendOutcome, { kind: 'accepted' }>

/** The outcome of a read receipt. It may be repeated at any time. */
export type ReceiptOutcome = { kind: 'taken' } | SendFailure

/** A template as the provider has it; members that it does not know are null. */
export type ProviderTemplate = {
  externalId: string | null
  name: string
  language: string
  /** As the provider names it. */
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
  /** For how many seconds the provider tries to deliver a message of it; null: as long as it does by itself. */
  ttlSeconds: number | null
  /** Members of the record that the provider writes as our API does, passed on as given; null: it writes another record. */
  passedOn: PassedOn | null
}

export type PassedOn = {
  waba_account_id?: string
  created_at?: string
  modified_at?: string
  updated_external?: boolean
}

/** A template as a company wants it, in the form of Meta. */
export type NewTemplate = {
  name: string
  language: string
  category: string
  parameterFormat: 'POSITIONAL' | 'NAMED'
  components: readonly TemplateComponent[]
  /** As in `ProviderTemplate`; undefined: what the template has. */
  ttlSeconds: number | undefined
}

/** A part of a template that the provider does not take: its category or lifetime, a sample, or a change of its contents. */
export type Unsupported = { kind: 'unsupported'; part: 'category' | 'ttlSeconds' | 'sample' | 'components' }

/** The provider's answer to a new template. */
export type TemplateReceipt = { externalId: string | null; status: string; category: string }

/** Passed on as the provider gave it; these are the members that we read. */
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

/** A question that the provider answered, or why it did not. */
export type Fetched<T> =
  | { kind: 'fetched'; value: T }
  /**
   * `isRefused`: the provider answered and refused the question; else it could not be reached or asked to wait, for
   * `retryAfterSeconds`. `isDenied`: it refused the credential itself.
   */
  | { kind: 'failed'; isRefused: boolean; isDenied: boolean; retryAfterSeconds: number | null; error: ProviderError }

export type MediaOutcome =
  | {
      kind: 'fetched'
      /** As the provider reports it, like size and digest (hex); null where it does not. */
      mimeType: string | null
      sizeBytes: number | null
      sha256: string | null
      /** To be read to its end or destroyed. */
      body: Readable
    }
  /** The provider says that it does not have it, which is also how a missing permission looks. */
  | { kind: 'gone' }
  | { kind: 'throttled'; retryAfterSeconds: number }
  | { kind: 'failed'; error: ProviderError }

/** One message for one recipient, in no provider's form. */
export type OutboundMessage = {
  /** Digits, or a provider's user id. */
  recipient: string
  content: OutboundContent
  /** Comes back with every status of the message. */
  reference: string
  /** The message that it answers; null: none. */
  quotedWamid: string | null
  /** Makes it a message that needs neither window nor template; null: it needs one. */
  directSend: DirectSend | null
}

/** The subject of a message without a template, and for how many seconds the provider tries to deliver it. */
export type DirectSend = { category: 'utility' | 'authentication'; ttlSeconds: number | undefined }

/** The address of the provider that takes a message: the one of all messages, or the one of marketing templates. */
export type SendAddress = 'messages' | 'marketing'

export type OutboundContent =
  | { type: 'text'; text: string; previewUrl?: boolean | undefined }
  | {
      type: 'image' | 'video' | 'audio' | 'document' | 'sticker'
      source: { link: string } | { providerMediaId: string }
      caption?: string | undefined
      filename?: string | undefined
      /** An audio that is shown as a voice note. */
      isVoice?: boolean
    }
  | { type: 'template'; name: string; language: string; components: readonly object[] }
  /** In the form that all providers take. */
  | { type: 'interactive' | 'location'; value: object }
  | { type: 'contacts'; value: readonly object[] }
  /** Emoji null removes the reaction. */
  | { type: 'reaction'; targetWamid: string; emoji: string | null }

export type Provider = {
  /** The body of a send in the provider's form. */
  toWire(message: OutboundMessage): string
  /** Sends one body made by `toWire`. One attempt, within the provider deadline. */
  send(access: SenderAccess, body: string, address?: SendAddress): Promise<SendOutcome>
  /** Whether the account has signed the terms for marketing messages; null: the provider does not say. */
  readMarketingTerms(access: SenderAccess): Promise<Fetched<boolean | null>>
  /**
   * Marks a customer's message and the earlier ones as read; with `isTyping` the customer also sees for 25 seconds, or until
   * the answer comes, that it is being written.
   */
  markRead(access: SenderAccess, wamid: string, isTyping: boolean): Promise<ReceiptOutcome>
  /** All templates of the sender's business account, following the provider's paging to its end. */
  listTemplates(access: SenderAccess): Promise<Fetched<ProviderTemplate[]>>
  /** Hands a template in for review. */
  createTemplate(access: SenderAccess, template: NewTemplate): Promise<Fetched<TemplateReceipt> | Unsupported>
  /** Changes a template in its language, which is reviewed again. */
  editTemplate(
    access: SenderAccess,
    externalId: string | null,
    template: NewTemplate,
  ): Promise<Fetched<null> | Unsupported>
  /** Stores a sample of a template's header for the review; answers its handle. */
  uploadSample(access: SenderAccess, file: MediaFile): Promise<Fetched<string> | Unsupported>
  /** Deletes a template in all languages. */
  deleteTemplate(access: SenderAccess, name: string): Promise<Fetched<null>>
  /** The numbers that the credential may use, as far as the provider lists them. */
  listNumbers(access: SenderAccess): Promise<Fetched<ProviderNumber[]>>
  /** Stores a file at the provider for sends of this number; answers the media id. */
  uploadMedia(access: SenderAccess, file: MediaFile): Promise<Fetched<string>>
  /** Opens media that a customer sent or that was uploaded to the sender; the signal ends the reading, too. */
  fetchMedia(access: SenderAccess, mediaId: string, signal: AbortSignal): Promise<MediaOutcome>
  /** One line of text: the settings to enter at the provider so that its events arrive here. */
  webhookSteps(place: WebhookPlace): string
  /** Whether it asks for the verify token before it registers the webhook. */
  makesHandshake: boolean
  /** By what the provider's events name the app, read from what the operator gave; null where it has no apps. */
  appIdOf(access: SenderAccess): string | null
}

export type Providers = Readonly<Partial<Record<ProviderName, Provider>>>
