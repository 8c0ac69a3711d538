// Generated from openapi.json by `npm run generate`. Do not edit.

export type AcceptedEmail = {
  /** The id of the email, `eml_…`. */
  id: string
  /** The address of its statistics. */
  statsUrl: string
  status: "pending"
}

export type AcceptedTemplateEmail = {
  success: true
  /** The id of the email, `eml_…`. */
  id: string
  /** The address of its statistics. */
  statsUrl: string
}

/** The credential at the provider, which is stored encrypted and never returned. */
export type AccessToken = string

/** An event about an account, a number or a template. */
export type AccountEvent = {
  id: number
  companyId: number
  /** The id of the business account. */
  wabaAccountId: string
  /** The id of the number that the event names; null when it is about the whole account. */
  channelId: number | null
  /** The name that the provider gives the kind of event, such as `account_update`. */
  field: string
  /** The event in the word of the provider, such as `ACCOUNT_RESTRICTION`. */
  event: string | null
  /** `critical`: the account cannot send, or soon will not be able to. */
  severity: "info" | "warning" | "critical"
  /** The value that the provider sent, at most 4 KiB; null for kinds that may name a customer. */
  details: unknown
  /** The time by the clock of the provider. */
  occurredAt: string | null
  receivedAt: string
}

/** The address to which the paths of the provider are added, by default its public address. */
export type ApiBaseUrl = string | null

/** An API key without its secret. */
export type ApiKey = {
  /** The public half of the key. */
  clientId: string
  name: string
  permissions: Array<string>
  allowedOrigins: Array<string>
  expiresAt: string | null
  rateLimitPerMinute: number | null
  rateLimitPerAddress: number | null
  writableFields: Array<string> | null
  hasIdentitySecret: boolean
  createdAt: string
}

/** Settings of a key that holds `ContactsUpsert` alone; null sets the default. */
export type ApiKeyChange = {
  /** The requests of the key in 60 seconds; by default half of the limit of the company. */
  rateLimitPerMinute?: number | null
  /** The requests of one client address with the key in 60 seconds; by default a fifth of the limit of the company. */
  rateLimitPerAddress?: number | null
  /** The members of contacts that the key may write beside email and phone: firstName, lastName, status, source, source_type, tags, customFields, marketingConsent, or `customFields.<key>`; by default all. */
  writableFields?: Array<string> | null
}

export type ApiKeyRequest = {
  /** The name of the key, which its messages show as their sender. */
  name: string
  /** The permissions in any letter case: WhatsApp, Transactional, ContactsUpsert. A key that holds only the last one is for browsers. */
  permissions: Array<string>
  /** The origins of web pages that may use the key, such as `https://app.example.com`; by default none. */
  allowedOrigins?: Array<string>
  /** A future date or time in ISO 8601 after which the key does not work any more. */
  expiresAt?: string | null
  /** The requests of the key in 60 seconds; by default half of the limit of the company. */
  rateLimitPerMinute?: number | null
  /** The requests of one client address with the key in 60 seconds; by default a fifth of the limit of the company. */
  rateLimitPerAddress?: number | null
  /** The members of contacts that the key may write beside email and phone: firstName, lastName, status, source, source_type, tags, customFields, marketingConsent, or `customFields.<key>`; by default all. */
  writableFields?: Array<string> | null
  /** Whether to make an identity secret, with which visitors prove who they are. */
  identitySecret?: boolean
}

/** The id of the app that has the number, for providers with apps, by default the last segment of `apiBaseUrl`. */
export type AppId = string | null

/** The name of the app, which template events contain. */
export type AppName = string | null

/** The app secret. When it is set, events without its signature are refused. It is never returned. */
export type AppSecret = string | null

/** The display name of the business. Without it the provider is asked. */
export type BusinessName = string

export type CaptionedMediaById = {
  /** The id of a file that was uploaded to the sending number. */
  providerMediaId: string
  /** The text below the file. */
  caption?: string
  /** The name that the customer sees. */
  filename?: string
}

export type CaptionedMediaByLink = {
  /** An https address, from which the provider downloads the file. */
  link: string
  /** The text below the file. */
  caption?: string
  /** The name that the customer sees. */
  filename?: string
}

/** A company of this installation. */
export type Company = {
  id: number
  name: string
  /** The number of requests per minute that all keys of the company may make together, by default 100. */
  rateLimitPerMinute: number
  createdAt: string
}

export type CompanyChange = {
  /** The name, without blanks at its ends. */
  name?: string
  /** The number of requests per minute that all keys of the company may make together, by default 100. */
  rateLimitPerMinute?: number
}

export type CompanyRequest = {
  /** The name, without blanks at its ends. */
  name: string
  /** The number of requests per minute that all keys of the company may make together, by default 100. */
  rateLimitPerMinute?: number
}

export type ConnectSenderRequest = ConnectedSenderChange & Required<Pick<ConnectedSenderChange, "provider" | "phoneNumberId" | "wabaAccountId" | "accessToken">>

/** A connected WhatsApp number without its secrets. */
export type ConnectedSender = {
  /** The id of the sender. */
  channelId: number
  provider: string
  phoneNumber: string
  phoneName: string
  phoneNumberId: string
  isPreferred: boolean
  wabaAccountId: string
  tier: SenderTier
  dailyLimit: DailyLimit
  apiBaseUrl: string | null
  appId: string | null
  appName: string | null
  portfolioId: string | null
  throughputPerSecond: Throughput
  /** Whether the phone app uses the number too, as the provider says. */
  isSharedWithApp: boolean
  /** The address to which the provider has to post its events. */
  webhookUrl: string
  /** The token for the handshake, for providers that make one. */
  webhookVerifyToken: string | null
  /** The values to enter at the provider. */
  webhookSteps: string
  createdAt: string
}

export type ConnectedSenderChange = {
  /** The provider through which the number is connected. */
  provider?: "meta" | "dialog360" | "gupshup"
  phoneNumber?: PhoneNumberText
  phoneName?: BusinessName
  /** The id of the number at the provider. */
  phoneNumberId?: string
  /** The id of the business account at the provider. */
  wabaAccountId?: string
  accessToken?: AccessToken
  appSecret?: AppSecret
  webhookSecret?: WebhookSecret
  apiBaseUrl?: ApiBaseUrl
  appId?: AppId
  appName?: AppName
  portfolioId?: PortfolioId
  isPreferred?: IsPreferred
  tier?: SenderTier
  dailyLimit?: DailyLimit
  throughputPerSecond?: Throughput
}

export type Contact = {
  /** The id of the contact. */
  id: number
  /** The email address. */
  email: string | null
  /** The phone number in E.164 with +. */
  phone: string | null
  /** The first name. */
  first_name: string | null
  /** The last name. */
  last_name: string | null
  /** The status, `active` unless a write set another one. */
  status: string
  /** The source, `API` unless a write set another one. */
  source: string
  /** `database`, `third_party`, or the value of the service itself. */
  source_type: string
  created_at: string
  updated_at: string
  /** Custom fields by key. */
  custom_fields: {
    [name: string]: unknown
  }
  tags: Array<string>
  /** Whether the contact wants marketing on a channel; null when it is not known. */
  marketing_consent: {
    email: boolean | null
    whatsapp: boolean | null
  }
  /** The id of the company. */
  company: number
  /** False in answers: only the event of a deletion shows a deleted contact. */
  deleted: boolean
  /** The id in an external system. */
  external_id: string | null
  /** The id of the connection to that system. */
  external_connection_id: number | null
}

export type ContactImport = ListedImport & {
  /** The first 100 refused rows; `/public/v1/contacts/imports/{id}/refused` has all of them. */
  refusals: Array<{
    line: number
    reason: string
  }>
  /** Columns without a meaning, only in the answer to the import itself. */
  ignored_columns?: Array<string>
}

/** A list of up to 1000000 contacts: CSV whose first line names the columns, or one JSON object on each line. The columns are those of the export: id, email, phone, first_name, last_name, status, source, source_type, tags (separated by semicolons), marketing_consent.email, marketing_consent.whatsapp, and custom_fields.<key>. An empty cell changes nothing. */
export type ContactList = string

export type ContactPagination = {
  /** The page that was returned; null when it was read by a cursor. */
  page: number | null
  /** The number of contacts on a page. */
  limit: number
  /** The number of contacts on all pages. */
  total: number
  /** The number of pages. */
  totalPages: number
  hasNext: boolean
  hasPrevious: boolean
  /** False when a search may have more matches than `total`, because it examines at most 10,000 contacts. */
  totalIsExact: boolean
  /** The cursor of the next page, to pass as `before` when the sort descends and as `after` when it ascends; null when there is none. */
  nextCursor: string | null
  /** The cursor of the previous page, to pass as the other one of the two; null when there is none. */
  previousCursor: string | null
}

/** A contact to write. Members that are left out keep their values. */
export type ContactWrite = {
  /** One address, compared without regard to case. In an update, null removes it. */
  email?: string | null
  /** The number in E.164, with or without +; spaces, dashes, dots and parentheses are dropped. In an update, null removes it. */
  phone?: string | null
  /** Null and the empty text remove it. */
  firstName?: string | null
  /** Null and the empty text remove it. */
  lastName?: string | null
  /** The status; a new contact has `active`. */
  status?: string
  /** The source; a new contact has `API`. */
  source?: string
  /** The kind of the source; a new contact has `database`. */
  source_type?: "database" | "third_party"
  /** The tags, which replace all that the contact has. */
  tags?: Array<string>
  /** Any JSON values by key, merged into those of the contact; null removes a key. A contact has at most 200 keys and 65536 bytes. */
  customFields?: {
    [name: string]: unknown
  }
  /** True opts in and false opts out; a channel that is left out keeps its consent. */
  marketingConsent?: {
    email?: boolean
    whatsapp?: boolean
  }
  /** For keys that hold `ContactsUpsert` alone: the HMAC-SHA256 in hex of the email in lower case, or of the digits of the phone, with the identity secret of the key. It lets the write change email and phone of this contact and end its opt-outs. */
  identityProof?: string
}

/** The members mean the same as in JSON. */
export type ContactWriteForm = {
  email?: string | null
  phone?: string | null
  firstName?: string | null
  lastName?: string | null
  status?: string
  source?: string
  source_type?: "database" | "third_party"
  tags?: Array<string>
  "marketingConsent.email"?: boolean
  "marketingConsent.whatsapp"?: boolean
  identityProof?: string
}

/** One contact, or up to 1,000 (10 with a key that holds only `ContactsUpsert`), of which all are written or none. A form has fields such as `customFields.<key>` and `marketingConsent.email` (`true`, `false`, `1`, `0`), and `tags` once for each tag. */
export type ContactWrites = ContactWrite | Array<ContactWrite>

export type Conversation = {
  /** The id of the conversation. */
  chatId: number
  contact: {
    /** The id of the contact. */
    id: number
    /** The number that an answer reaches, in digits; null for a group, and while the phone number of the customer is not known. */
    phone: string | null
    /** The name of the contact, else the WhatsApp profile name; for a group its id. */
    name: string | null
    /** The user id at the provider, which a send takes as `recipient`; null while it is not known. */
    userId: string | null
  }
  sender: {
    /** The id of the connected number. */
    channelId: number
    /** The display phone number. */
    phoneNumber: string
    /** The display name of the business. */
    phoneName: string
  }
  window: {
    /** Whether the customer wrote less than 24 hours ago: free text may be sent. */
    isOpen: boolean
    /** The end of the window; null when the customer never wrote. */
    closesAt: string | null
  }
  /** The name of the person who answers. */
  assignee: string | null
  /** Whether the business or the AI agent of the provider answers; null: not reported. */
  controlledBy: "business" | "agent" | null
  /** The id of the group at the provider; null for a conversation with one customer. */
  groupId: string | null
  status: "open" | "closed" | "snoozed"
  /** The number of inbound messages since the last outbound one, or since the conversation was read. */
  unreadMessages: number
  lastMessage: {
    /** The text, the caption or a placeholder. */
    text: string | null
    /** Inbound messages come from the customer, outbound ones from the business. */
    direction: "inbound" | "outbound"
    /** The time in epoch seconds. */
    timestamp: number
    timestampIso: string
  } | null
  createdAt: string
  updatedAt: string
}

export type ConversationChange = {
  status?: "open" | "closed" | "snoozed"
  /** Marks the conversation as read. */
  unreadMessages?: 0
  /** The name of the person who answers. */
  assignee?: string | null
}

export type ConversationPagination = {
  /** The number of records on all pages; null with a filter. */
  totalRecords: number | null
  /** The page that was returned. */
  currentPage: number
  /** The number of pages; null with a filter. */
  totalPages: number | null
  /** The next page; null on the last page. */
  nextPage: number | null
  /** The previous page; null on the first page. */
  prevPage: number | null
  /** The cursor of the next page, to pass as `before`; null on the last page. */
  nextCursor: string | null
  /** The cursor of the previous page, to pass as `after`; null on the first page. */
  previousCursor: string | null
}

export type CustomField = {
  id: number
  /** The key in upper case. */
  key: string
  /** The label to show. */
  displayName: string
  type: "text" | "number" | "boolean" | "date" | "datetime" | "select" | "json"
  /** The group of the field. */
  category: string | null
  /** Whether the field is visible. */
  visibility: boolean
  /** `Manual` for fields that were created through the API. */
  source: string
  /** The values that may be chosen, for the type `select`. */
  allowedValues: Array<string> | null
  /** Any JSON members. */
  metadata: {
    [name: string]: unknown
  } | null
}

export type CustomFieldGroups = {
  groups: Array<{
    category: string
    fields: Array<{
      id: number
      key: string
      displayName: string
      type: "text" | "number" | "boolean" | "date" | "datetime" | "select" | "json"
    }>
  }>
  /** The number of fields in all groups. */
  total: number
}

/** The number of customers that the number may write to first within 24 hours. It takes precedence over the tier. */
export type DailyLimit = number | null

export type Delivery = {
  id: number
  registrationId: number
  /** The name of the event. */
  event: string
  /** The id of the event, which receivers get in the `Delivery` header. */
  eventId: string
  /** The id of the received message at the provider; null for other events. */
  wamid: string | null
  /** `dead` means that the last attempt failed, `skipped` that the registration became inactive. */
  status: "pending" | "delivered" | "dead" | "skipped"
  /** The number of attempts, since the last redelivery if there was one. */
  attempts: number
  /** The status of the latest attempt; null without an answer. */
  lastStatusCode: number | null
  createdAt: string
  /** The time of the next attempt; null when none follows. */
  nextAttemptAt: string | null
}

export type DeliveryAttempt = {
  id: number
  /** The id that all attempts of one delivery share. */
  deliveryId: number
  /** The number of the attempt. */
  attempt: number
  /** The delivered body. */
  payload: {
    [name: string]: unknown
  }
  /** The body that the receiver answered. */
  response: string | null
  /** The status that the receiver answered; null when it did not answer. */
  statusCode: number | null
  /** Why the attempt failed; null after a success. */
  errorMessage: string | null
  /** Whether this was the last attempt of a failed delivery. */
  deadLettered: boolean
  sentAt: string
  createdAt: string
}

export type DeliveryDetails = {
  delivery: Delivery
  /** The body, the very text that is signed and sent. */
  payload: string
  /** The headers of the latest attempt, by the present settings of the registration; `…` stands for the value of a static header. */
  requestHeaders: {
    [name: string]: string
  }
  /** The latest attempts, the newest first, at most 100. */
  attempts: Array<{
    /** The id of the attempt, by which `redeliver` repeats the delivery. */
    id: number
    attempt: number
    /** Counts from 1; each redelivery begins another round. */
    round: number
    /** The status of the answer. */
    statusCode: number | null
    /** The body of the answer. */
    response: string | null
    /** Why the attempt failed. */
    errorMessage: string | null
    durationMs: number
    sentAt: string
  }>
}

/** How the company sends email. */
export type EmailSettings = {
  /** The address of the sender. */
  from: string | null
  /** The name of the sender. */
  fromName: string | null
  /** The mail server of the company, without its credential. */
  smtpUrl: string | null
}

export type EmailSettingsRequest = {
  /** The address of the sender. */
  from: string
  /** The name of the sender. */
  fromName?: string | null
  /** The mail server of the company, `smtp://` or `smtps://user:password@host:port`, or `postmark://token@host`, by default that of the service. It is stored encrypted and returned without its credential. */
  smtpUrl?: string | null
}

export type EmailStats = {
  /** The id of the email, `eml_…`. */
  id: string
  status: "pending" | "sent" | "failed"
  to: string
  subject: string
  /** The time at which the email was accepted. */
  sentAt: string
  /** Whether the open pixel was fetched. */
  opened: boolean
  /** The time of the first fetch of the pixel. */
  firstOpenAt: string | null
  /** The number of fetches of tracked links. */
  clickCount: number
  /** The time of the first fetch of a tracked link. */
  firstClickAt: string | null
  /** Why the email failed, in the words of the mail server. */
  failureReason: string | null
  /** How many of the counted fetches look like those of proxies and scanners. */
  suspectedMachine: {
    opens: number
    clicks: number
  }
}

/** A template for emails. */
export type EmailTemplate = {
  /** The id that a send takes as `uid`. */
  id: string
  /** The id that the statistics take. */
  transactionalId: number
  name: string
  subject: string
  html: string
  text: string | null
  category: string
  /** The names of the variables in subject, HTML and text. */
  variables: Array<string>
  createdAt: string
}

export type EmailTemplateChange = {
  /** The name, without blanks at its ends. */
  name?: string
  /** The subject as a Liquid template, which becomes one line. */
  subject?: string
  /** The body as a Liquid template; values are escaped. */
  html?: string
  /** The body for programs that show no HTML, as a Liquid template. */
  text?: string | null
  /** By default `TRANSACTIONAL`. `MARKETING` emails carry an unsubscribe link and are not sent to contacts that opted out. */
  category?: "TRANSACTIONAL" | "UTILITY" | "AUTHENTICATION" | "MARKETING"
}

export type EmailTemplateItem = {
  /** The id that a send takes as `uid`. */
  id: string
  /** The id that the statistics take. */
  transactionalId: number
  name: string
  subject: string
  status: "active"
  category: string
  createdAt: string
  /** The names of the variables. */
  variables: Array<string>
}

export type EmailTemplateRequest = {
  /** The name, without blanks at its ends. */
  name: string
  /** The subject as a Liquid template, which becomes one line. */
  subject: string
  /** The body as a Liquid template; values are escaped. */
  html: string
  /** The body for programs that show no HTML, as a Liquid template. */
  text?: string | null
  /** By default `TRANSACTIONAL`. `MARKETING` emails carry an unsubscribe link and are not sent to contacts that opted out. */
  category?: "TRANSACTIONAL" | "UTILITY" | "AUTHENTICATION" | "MARKETING"
}

export type EmailTemplateStats = {
  created: string
  /** The share of sent emails that were opened. */
  openRate: string
  /** The share of sent emails with a click. */
  clickRate: string
  /** The number of sent emails. */
  totalMessagesSent: number
}

/** An inbound event that was not processed. */
export type FailedEvent = {
  id: number
  /** `unroutable`, `unverified` (the secret of its number is not proved), `failed` or `unreadable`. */
  state: string
  /** Why the event is in this list. */
  reason: string
  /** The id of the number at the provider. */
  phoneNumberId: string | null
  /** The id of the business account. */
  wabaAccountId: string | null
  /** The app of the provider. */
  app: string | null
  receivedAt: string
  /** The text of the provider for this item; a list returns its first 4 KiB. */
  body: string
  /** The length of the whole text in bytes. */
  bodyBytes: number
}

export type FailedJob = {
  id: number
  /** Such as `webhook.deliver`. */
  kind: string
  /** The id of the company. */
  companyId: number | null
  /** The id of the record that the job is about. */
  subjectId: number
  /** The number of attempts. */
  attempts: number
  failedAt: string
  /** The error of the last attempt. */
  lastError: string | null
}

/** Whether sends without `sender` use the number. The first number is always preferred. */
export type IsPreferred = boolean

export type ListedImport = {
  /** The id of the import. */
  id: number
  /** After `failed` and `cancelled` the rows that were imported before stay. */
  status: "queued" | "running" | "completed" | "failed" | "cancelled"
  /** Why the import failed. */
  failure: string | null
  format: "csv" | "ndjson"
  /** The number of rows of the list. */
  rows: number
  /** The number of rows that were created, updated, unchanged or refused. */
  rows_read: number
  /** The number of contacts that were created. */
  created: number
  /** The number of rows that changed a contact. */
  updated: number
  /** The number of rows that changed nothing. */
  unchanged: number
  /** The number of rows that were refused. */
  refused: number
  created_at: string
  /** The time at which the first row was read. */
  started_at: string | null
  /** The time at which the import ended. */
  ended_at: string | null
}

export type Me = {
  company: {
    id: number
    name: string
  }
  /** The name of the API key or session. */
  name: string
  permissions: Array<"WhatsApp" | "Transactional" | "ContactsUpsert">
  limits: {
    /** The requests that all API keys of the company share; of a key for browsers, its own. */
    requestsPerMinute: number
  }
}

export type MediaById = {
  /** The id of a file that was uploaded to the sending number. */
  providerMediaId: string
  /** The name that the customer sees. */
  filename?: string
}

export type MediaByLink = {
  /** An https address, from which the provider downloads the file. */
  link: string
  /** The name that the customer sees. */
  filename?: string
}

export type Message = {
  /** The id, which grows from message to message and serves as a cursor. */
  id: number
  /** The id of the message at the provider, or `erased:<id>` after the contact was erased. */
  wamid: string | null
  /** Inbound messages come from the customer, outbound ones from the business. */
  direction: "inbound" | "outbound"
  type: "text" | "image" | "video" | "audio" | "document"
  /** The text, the caption, or a placeholder such as `[image]`, `[revoked]` or `[erased]`. */
  text: string | null
  media: {
    /** The address of the file, which needs no credential and is valid for 7 days. */
    url: string | null
    /** The MIME type. */
    type: string | null
    /** The name of the file. */
    filename: string | null
  } | null
  /** The emoji of a reaction to this message. */
  reaction: string | null
  /** Inbound messages are `received`. `unknown` means that the provider did not answer the send. */
  status: "received" | "pending" | "sent" | "delivered" | "read" | "failed" | "unknown"
  error: MessageFailure | null
  /** Null until a status of the message has it. */
  pricing: MessagePricing | null
  /** The sender at that time; in a group the profile name and number: `Ada (+393331234567)`. */
  senderName: string | null
  /** The time in epoch seconds. */
  timestamp: number | null
  /** The same time in ISO 8601. */
  timestampIso: string | null
  /** The time at which the customer changed the message; `text` is the new text. */
  editedAt: string | null
  /** The time at which the customer deleted the message; `text` is `[revoked]`, and media is not served any more. */
  revokedAt: string | null
}

/** The member that `type` names is required: `text`, `template`, or `media` for any other type. */
export type MessageContent = {
  type: "text" | "template" | "image" | "video" | "audio" | "document" | "sticker"
  /** The text of the message. */
  text?: string
  template?: (TemplateByName & { id?: never }) | (TemplateById & { name?: never })
  media?: (CaptionedMediaByLink & { providerMediaId?: never }) | (CaptionedMediaById & { link?: never })
}

export type MessageDetails = {
  message: Message
  statuses: Array<{
    /** A status that the provider reported, each once. */
    status: string
    /** The time by the clock of the provider. */
    at: string | null
    receivedAt: string
    error: MessageFailure | null
  }>
  deliveries: Array<{
    registrationId: number
    deliveryId: number
    status: "pending" | "delivered" | "dead" | "skipped"
    attempts: number
  }>
}

/** Why a message failed, in the words of the provider. */
export type MessageFailure = {
  /** The error code of the provider. */
  code: number | null
  /** The error title of the provider. */
  title: string | null
  /** The details that the provider gave. */
  details: string | null
}

/** The price of a message, in the words of the provider. */
export type MessagePricing = {
  /** The category, such as `marketing`, `utility`, `authentication` or `service`. */
  category: string | null
  /** The type, such as `regular`, `free_customer_service` or `free_entry_point`. */
  type: string | null
  /** Whether the provider charges for the message. */
  billable: boolean | null
}

/** A key that was just created. */
export type NewApiKey = {
  /** The public half of the key. */
  clientId: string
  name: string
  permissions: Array<string>
  allowedOrigins: Array<string>
  expiresAt: string | null
  rateLimitPerMinute: number | null
  rateLimitPerAddress: number | null
  writableFields: Array<string> | null
  hasIdentitySecret: boolean
  /** The bearer token, which is returned only once. */
  token: string
  /** The secret of proofs of identity, which is returned only once. */
  identitySecret: string | null
}

export type NewCustomField = {
  /** The key, which is made upper case: a letter, then letters, digits and _. */
  key: string
  /** The label to show. */
  displayName: string
  type: "text" | "number" | "boolean" | "date" | "datetime" | "select" | "json"
  /** The group of the field. */
  category?: string | null
  /** Whether the field is visible. */
  visibility?: boolean
  /** The values that may be chosen; required for the type `select`, and not allowed for another. */
  allowedValues?: Array<string>
  /** Any JSON members. */
  metadata?: {
    [name: string]: unknown
  }
}

export type NewEmail = {
  /** The address of the one recipient, without a name. */
  to: string
  /** The subject, in one line. */
  subject: string
  /** The body in HTML. */
  html: string
  /** The body for programs that show no HTML. */
  text?: string
  /** The address of the sender, by default that of the company. */
  from?: string
  /** The name of the sender. */
  fromName?: string
  /** The address for answers. */
  replyTo?: string
  /** Further headers, such as `X-…`, `List-…`, `In-Reply-To`, `References` and `Auto-Submitted`. */
  headers?: {
    [name: string]: string
  }
  /** Whether opens are counted, by default true. */
  trackOpens?: boolean
  /** Whether clicks are counted, by default true. */
  trackClicks?: boolean
}

export type NewRegistration = {
  /** The name. */
  name: string
  url: ReceiverUrl
  /** The events to deliver; an event named twice counts once. */
  events: Array<"whatsapp.message.received" | "whatsapp.message.status" | "whatsapp.template.status" | "contact.changed" | "email.status">
  /** The connected numbers (`channelId`) whose events are delivered; null delivers those of all. Events that are about no number, such as `contact.changed`, are delivered in any case. */
  channelIds?: Array<number> | null
  secret?: SigningSecret
  method?: "POST" | "GET"
  /** Deliveries about one conversation go one after the other: a later one waits until the earlier one is delivered or dead-lettered. By default false. */
  ordered?: boolean
  headers?: StaticHeaders
}

export type NewTemplateEmail = {
  /** The id of the email template, `tmpl_…`. */
  uid: string
  /** The address of the one recipient, without a name. */
  recipient: string
  /** The values of the variables. A missing one is empty. A form has fields such as `customFields.<key>`. */
  customFields?: {
    [name: string]: string
  }
}

/** The contact. */
export type OneContact = {
  data: Contact
}

/** The conversation. */
export type OneConversation = {
  data: Conversation
}

export type Pagination = {
  /** The number of records on all pages. */
  totalRecords: number
  /** The page that was returned. */
  currentPage: number
  /** The number of pages; 0 when there is no record. */
  totalPages: number
  /** The next page; null on the last page. */
  nextPage: number | null
  /** The previous page; null on the first page. */
  prevPage: number | null
}

/** The phone number with country code, in any formatting. Without it the provider is asked. */
export type PhoneNumberText = string

/** The id of the business portfolio at the provider: all numbers of a portfolio share its daily limit. */
export type PortfolioId = string | null

/** The HTTPS address of the receiver: a public host, without user name, password or fragment. */
export type ReceiverUrl = string

export type Redelivery = {
  /** The begin of the time range. */
  since: string
  /** The end of the time range, by default now. */
  until?: string
  /** Leaves out deliveries that succeeded. */
  onlyDeadLettered?: boolean
  /** Only counts the deliveries, and enqueues none. */
  dryRun?: boolean
}

/** A receiver of events. */
export type Registration = {
  id: number
  name: string
  url: string
  events: Array<"whatsapp.message.received" | "whatsapp.message.status" | "whatsapp.template.status" | "contact.changed" | "email.status">
  /** The connected numbers whose events are delivered; null for all. */
  channelIds: Array<number> | null
  status: "active" | "inactive"
  method: "POST" | "GET"
  /** Whether deliveries about one conversation go one after the other. */
  ordered: boolean
  /** The names of the static headers, each with `…`. */
  headers: {
    [name: string]: string
  }
  /** Whether deliveries are signed. */
  hasSecret: boolean
  /** Why the service set the registration inactive: `no_success` after five days without a 2xx and 100 dead letters. Null when it did not. */
  pausedReason: string | null
  /** When the service set the registration inactive; setting it `active` resumes. */
  pausedAt: string | null
  created: string
}

export type RegistrationChange = {
  /** The name. */
  name?: string
  url?: ReceiverUrl
  /** The events to deliver; an event named twice counts once. */
  events?: Array<"whatsapp.message.received" | "whatsapp.message.status" | "whatsapp.template.status" | "contact.changed" | "email.status">
  /** The connected numbers (`channelId`) whose events are delivered; null delivers those of all. Events that are about no number, such as `contact.changed`, are delivered in any case. */
  channelIds?: Array<number> | null
  secret?: SigningSecret
  method?: "POST" | "GET"
  /** Deliveries about one conversation go one after the other: a later one waits until the earlier one is delivered or dead-lettered. By default false. */
  ordered?: boolean
  headers?: StaticHeaders
  status?: "active" | "inactive"
}

/** How the receiver has answered lately. */
export type RegistrationHealth = {
  /** The time of the last attempt that the receiver answered with 2xx. */
  lastSuccessAt: string | null
  /** The time of the last failed attempt. */
  lastFailureAt: string | null
  /** Failed attempts since the last success, of the last seven days, counted up to 1,000. */
  consecutiveFailures: number
  /** Deliveries that have not finished, counted up to 10,000. */
  waiting: number
  /** Dead letters of the last 24 hours, counted up to 10,000. */
  deadLettered24h: number
}

/** A receiver of events and its health. */
export type RegistrationWithHealth = {
  id: number
  name: string
  url: string
  events: Array<"whatsapp.message.received" | "whatsapp.message.status" | "whatsapp.template.status" | "contact.changed" | "email.status">
  /** The connected numbers whose events are delivered; null for all. */
  channelIds: Array<number> | null
  status: "active" | "inactive"
  method: "POST" | "GET"
  /** Whether deliveries about one conversation go one after the other. */
  ordered: boolean
  /** The names of the static headers, each with `…`. */
  headers: {
    [name: string]: string
  }
  /** Whether deliveries are signed. */
  hasSecret: boolean
  /** Why the service set the registration inactive: `no_success` after five days without a 2xx and 100 dead letters. Null when it did not. */
  pausedReason: string | null
  /** When the service set the registration inactive; setting it `active` resumes. */
  pausedAt: string | null
  created: string
  health: RegistrationHealth
}

export type SendAudio = {
  /** The phone number in E.164, with or without +, or the provider’s user id of a customer who hides the number. */
  recipient: string
  /** A connected number in any formatting, or its `phoneNumberId`. Without it the preferred number sends. */
  sender?: string
  /** The source of the contact, if this send creates one. */
  contactSource?: string
  /** The value is ignored. */
  companyId?: unknown
  type: "audio"
  media: (MediaByLink & { providerMediaId?: never }) | (MediaById & { link?: never })
}

export type SendDocument = {
  /** The phone number in E.164, with or without +, or the provider’s user id of a customer who hides the number. */
  recipient: string
  /** A connected number in any formatting, or its `phoneNumberId`. Without it the preferred number sends. */
  sender?: string
  /** The source of the contact, if this send creates one. */
  contactSource?: string
  /** The value is ignored. */
  companyId?: unknown
  type: "document"
  media: (CaptionedMediaByLink & { providerMediaId?: never }) | (CaptionedMediaById & { link?: never })
}

export type SendImage = {
  /** The phone number in E.164, with or without +, or the provider’s user id of a customer who hides the number. */
  recipient: string
  /** A connected number in any formatting, or its `phoneNumberId`. Without it the preferred number sends. */
  sender?: string
  /** The source of the contact, if this send creates one. */
  contactSource?: string
  /** The value is ignored. */
  companyId?: unknown
  type: "image"
  media: (CaptionedMediaByLink & { providerMediaId?: never }) | (CaptionedMediaById & { link?: never })
}

/** The provider accepted the message. */
export type SendReply = {
  success: true
  data: SentMessage
}

export type SendRequest = (SendText & { template?: never; media?: never }) | (SendTemplate & { text?: never; media?: never }) | (SendImage & { text?: never; template?: never }) | (SendVideo & { text?: never; template?: never }) | (SendAudio & { text?: never; template?: never }) | (SendDocument & { text?: never; template?: never }) | (SendSticker & { text?: never; template?: never })

export type SendSticker = {
  /** The phone number in E.164, with or without +, or the provider’s user id of a customer who hides the number. */
  recipient: string
  /** A connected number in any formatting, or its `phoneNumberId`. Without it the preferred number sends. */
  sender?: string
  /** The source of the contact, if this send creates one. */
  contactSource?: string
  /** The value is ignored. */
  companyId?: unknown
  type: "sticker"
  media: (StickerByLink & { providerMediaId?: never }) | (StickerById & { link?: never })
}

export type SendTemplate = {
  /** The phone number in E.164, with or without +, or the provider’s user id of a customer who hides the number. */
  recipient: string
  /** A connected number in any formatting, or its `phoneNumberId`. Without it the preferred number sends. */
  sender?: string
  /** The source of the contact, if this send creates one. */
  contactSource?: string
  /** The value is ignored. */
  companyId?: unknown
  type: "template"
  template: (TemplateByName & { id?: never }) | (TemplateById & { name?: never })
}

export type SendText = {
  /** The phone number in E.164, with or without +, or the provider’s user id of a customer who hides the number. */
  recipient: string
  /** A connected number in any formatting, or its `phoneNumberId`. Without it the preferred number sends. */
  sender?: string
  /** The source of the contact, if this send creates one. */
  contactSource?: string
  /** The value is ignored. */
  companyId?: unknown
  type: "text"
  /** The text of the message. */
  text: string
}

export type SendVideo = {
  /** The phone number in E.164, with or without +, or the provider’s user id of a customer who hides the number. */
  recipient: string
  /** A connected number in any formatting, or its `phoneNumberId`. Without it the preferred number sends. */
  sender?: string
  /** The source of the contact, if this send creates one. */
  contactSource?: string
  /** The value is ignored. */
  companyId?: unknown
  type: "video"
  media: (CaptionedMediaByLink & { providerMediaId?: never }) | (CaptionedMediaById & { link?: never })
}

/** A connected WhatsApp number. */
export type Sender = {
  /** The id, by which conversations are filtered. */
  channelId: number
  /** The display phone number, which a send takes as `sender`. */
  phoneNumber: string
  /** The display name of the business. */
  phoneName: string
  /** The id of the number at the provider; a send takes it as `sender`, too. */
  phoneNumberId: string
  /** Whether a send without `sender` goes out from this number. */
  isPreferred: boolean
}

/** The tier of the daily limit: 1,000, 10,000, 100,000 or unlimited customers. */
export type SenderTier = number | null

export type SentMessage = {
  success: true
  /** The id of the conversation. */
  chatId: number
  /** The id of the message. */
  messageId: number
  /** The id of the message at the provider; null when the provider reports it later. */
  wamid: string | null
}

/** A link that signs in to the console once. */
export type SignInLink = {
  url: string
  expiresAt: string
}

export type SignInLinkRequest = {
  /** The name of the person, which becomes the `senderName` of messages sent from the session. */
  name: string
  /** WhatsApp, Transactional or both, at most those of the creator; by default all of these. */
  permissions?: Array<string>
  /** The role of the session, by default `agent`: conversations and contacts. `developer`: webhook registrations, their logs and templates. `admin`: everything. */
  role?: "agent" | "developer" | "admin"
  /** By default 600. */
  expiresInSeconds?: number
  /** The page of the console that opens, such as `/console/inbox/812`; by default the first page. */
  path?: string
}

/** The key that signs the bodies; it is never returned. A new one replaces the old at once, and null removes it. */
export type SigningSecret = string | null

/** Static headers of every delivery. Their values are never returned: answers show `…`. An update replaces all headers; the value `…` keeps the stored one. */
export type StaticHeaders = Array<{
  key: string
  value: string
}>

export type StickerById = {
  /** The id of a file that was uploaded to the sending number. */
  providerMediaId: string
}

export type StickerByLink = {
  /** An https address, from which the provider downloads the file. */
  link: string
}

/** The request succeeded. */
export type Success = {
  success: true
}

export type Template = {
  /** The id of the template family, which all languages of a template share. */
  id: string
  name: string
  language: string
  /** Only an `APPROVED` template can be sent. */
  status: "APPROVED" | "PENDING" | "REJECTED" | "DISABLED"
  /** `UTILITY`, `AUTHENTICATION` or `MARKETING`. */
  category: string
  /** The namespace at the provider. */
  namespace: string | null
  /** The id of the business account. */
  waba_account_id: string
  /** The id of the partner. */
  partner_id: string | null
  created_at: string
  modified_at: string
  /** Whether the provider has reported a change of the template. */
  updated_external: boolean
  /** The reason of a rejection, else the empty text. */
  rejected_reason: string
  /** The id of the template at the provider. */
  external_id: string | null
  created_by: {
    [name: string]: unknown
  } | null
  modified_by: {
    [name: string]: unknown
  } | null
  quality_score: {
    [name: string]: unknown
  } | null
  /** The components as the provider gave them. */
  components: Array<{
    [name: string]: unknown
  }>
}

export type TemplateById = {
  /** The id of the family, from the template list. */
  id: string
  /** The language; `en_US`, `en-US` and `en_us` are the same. Without it the service chooses one. */
  languageCode?: string
  /** The values of the placeholders. */
  components?: Array<TemplateComponent>
}

export type TemplateByName = {
  /** The name of the template. */
  name: string
  /** The language; `en_US`, `en-US` and `en_us` are the same. Without it the service chooses one. */
  languageCode?: string
  /** The values of the placeholders. */
  components?: Array<TemplateComponent>
}

export type TemplateComponent = {
  type: "HEADER" | "BODY" | "FOOTER" | "BUTTONS"
  parameters?: Array<TemplateParameter>
}

export type TemplateParameter = {
  /** The kind, mostly `text`. Parameters of other kinds go to the provider as they are. */
  type: string
  text?: string
  /** The named placeholder that the parameter fills. */
  parameter_name?: string
  [name: string]: unknown
}

/** The templates were read. */
export type TemplateSync = {
  /** The number of templates. */
  synced: number
}

export type TestDelivery = {
  /** The status that the receiver answered; null when it did not answer. */
  statusCode: number | null
  /** The body that the receiver answered. */
  response: string | null
  /** Why the attempt failed; null after a success. */
  errorMessage: string | null
  /** The duration of the attempt in milliseconds. */
  durationMs: number
}

/** The number of messages per second, by default 80, or 20 for a number that the phone app uses too. Above 1,000 no message waits, not even many to one customer. */
export type Throughput = number | null

export type UpsertedContacts = {
  data: Array<Contact>
}

export type Usage = {
  /** With `groupBy=day`: the day in UTC. */
  day?: string
  /** With `groupBy=number`: the id of the connected number. */
  channelId?: number
  /** With `groupBy=category`: of the pricing; until a status has one, of the template, or `service` without a template. */
  category?: string
  /** With `groupBy=template`: the name; null for messages without a template. */
  template?: string | null
  /** Messages that the provider reported as sent, delivered or read. */
  sent: number
  /** Messages that it reported as delivered or read. */
  delivered: number
  /** Messages that it reported as read. */
  read: number
  /** Messages that it reported as failed after it had accepted them. */
  failed: number
  /** Messages that it reported as billable. */
  billable: number
}

/** A secret for providers that do not sign. When it is set, events are refused unless they carry it in the header X-Webhook-Secret or as the last segment of the path. It is never returned. */
export type WebhookSecret = string | null

/** The answer to a key that holds only `ContactsUpsert`. Its arrays have at most 10 contacts; longer ones are answered 422 `validation_error`, and nothing is written. */
export type WrittenFields = {
  data: Array<{
    /** The email address. */
    email?: string | null
    /** The phone number in E.164 with +. */
    phone?: string | null
    /** The first name. */
    first_name?: string | null
    /** The last name. */
    last_name?: string | null
    status?: string
    source?: string
    source_type?: string
    /** Custom fields by key. */
    custom_fields?: {
      [name: string]: unknown
    }
    tags?: Array<string>
    marketing_consent?: {
      email?: boolean
      whatsapp?: boolean
    }
  }>
}

export interface paths {
  "/public/v1/me": {
    get: {
      parameters: { path?: never; query?: never; header?: { 'Idempotency-Key'?: string }; cookie?: never }
      requestBody?: never
      responses: {
        200: { content: { "application/json": {
        data: Me
      } } }
        default: { content: { 'application/json': unknown } }
      }
    }
    put?: never
    post?: never
    delete?: never
    patch?: never
  }
  "/public/v1/events": {
    get: {
      parameters: { path?: never; query?: {
        topics?: string
      }; header?: { 'Idempotency-Key'?: string }; cookie?: never }
      requestBody?: never
      responses: {
        200: { content: { "text/event-stream": string } }
        default: { content: { 'application/json': unknown } }
      }
    }
    put?: never
    post?: never
    delete?: never
    patch?: never
  }
  "/public/v1/templates/whatsapp/send": {
    get?: never
    put?: never
    post: {
      parameters: { path?: never; query?: never; header?: { 'Idempotency-Key'?: string }; cookie?: never }
      requestBody: { content: { "application/json": SendRequest } }
      responses: {
        200: { content: { "application/json": SendReply } }
        default: { content: { 'application/json': unknown } }
      }
    }
    delete?: never
    patch?: never
  }
  "/public/v1/templates/whatsapp/senders": {
    get: {
      parameters: { path?: never; query?: {
        page?: number
        pageSize?: number
      }; header?: { 'Idempotency-Key'?: string }; cookie?: never }
      requestBody?: never
      responses: {
        200: { content: { "application/json": {
        items: Array<Sender>
        pagination: Pagination
      } } }
        default: { content: { 'application/json': unknown } }
      }
    }
    put?: never
    post?: never
    delete?: never
    patch?: never
  }
  "/public/v1/templates/whatsapp": {
    get: {
      parameters: { path?: never; query?: never; header?: { 'Idempotency-Key'?: string }; cookie?: never }
      requestBody?: never
      responses: {
        200: { content: { "application/json": {
        data: Array<Template>
      } } }
        default: { content: { 'application/json': unknown } }
      }
    }
    put?: never
    post?: never
    delete?: never
    patch?: never
  }
  "/public/v1/whatsapp/conversations": {
    get: {
      parameters: { path?: never; query?: {
        page?: number
        pageSize?: number
        before?: string
        after?: string
        status?: "open" | "closed" | "snoozed"
        unread?: boolean
        channelId?: number
        assignee?: string
        search?: string
      }; header?: { 'Idempotency-Key'?: string }; cookie?: never }
      requestBody?: never
      responses: {
        200: { content: { "application/json": {
        data: Array<Conversation>
        pagination: ConversationPagination
      } } }
        default: { content: { 'application/json': unknown } }
      }
    }
    put?: never
    post?: never
    delete?: never
    patch?: never
  }
  "/public/v1/whatsapp/conversations/{chatId}": {
    get: {
      parameters: { path: {
        chatId: number
      }; query?: never; header?: { 'Idempotency-Key'?: string }; cookie?: never }
      requestBody?: never
      responses: {
        200: { content: { "application/json": OneConversation } }
        default: { content: { 'application/json': unknown } }
      }
    }
    put?: never
    post?: never
    delete?: never
    patch: {
      parameters: { path: {
        chatId: number
      }; query?: never; header?: { 'Idempotency-Key'?: string }; cookie?: never }
      requestBody: { content: { "application/json": ConversationChange } }
      responses: {
        200: { content: { "application/json": OneConversation } }
        default: { content: { 'application/json': unknown } }
      }
    }
  }
  "/public/v1/whatsapp/conversations/{chatId}/messages": {
    get: {
      parameters: { path: {
        chatId: number
      }; query?: {
        page?: number
        pageSize?: number
        before?: string
        after?: string
      }; header?: { 'Idempotency-Key'?: string }; cookie?: never }
      requestBody?: never
      responses: {
        200: { content: { "application/json": {
        data: Array<Message>
        pagination: Pagination
      } } }
        default: { content: { 'application/json': unknown } }
      }
    }
    put?: never
    post: {
      parameters: { path: {
        chatId: number
      }; query?: never; header?: { 'Idempotency-Key'?: string }; cookie?: never }
      requestBody: { content: { "application/json": MessageContent } }
      responses: {
        200: { content: { "application/json": SendReply } }
        default: { content: { 'application/json': unknown } }
      }
    }
    delete?: never
    patch?: never
  }
  "/public/v1/whatsapp/conversations/{chatId}/messages/{id}": {
    get: {
      parameters: { path: {
        chatId: number
        id: number
      }; query?: never; header?: { 'Idempotency-Key'?: string }; cookie?: never }
      requestBody?: never
      responses: {
        200: { content: { "application/json": {
        data: MessageDetails
      } } }
        default: { content: { 'application/json': unknown } }
      }
    }
    put?: never
    post?: never
    delete?: never
    patch?: never
  }
  "/public/v1/whatsapp/conversations/{chatId}/answering": {
    get?: never
    put?: never
    post: {
      parameters: { path: {
        chatId: number
      }; query?: never; header?: { 'Idempotency-Key'?: string }; cookie?: never }
      requestBody?: never
      responses: {
        204: { content: {} }
        default: { content: { 'application/json': unknown } }
      }
    }
    delete?: never
    patch?: never
  }
  "/public/v1/whatsapp/usage": {
    get: {
      parameters: { path?: never; query: {
        from: string
        to: string
        groupBy?: string
      }; header?: { 'Idempotency-Key'?: string }; cookie?: never }
      requestBody?: never
      responses: {
        200: { content: { "application/json": {
        data: Array<Usage>
      } } }
        default: { content: { 'application/json': unknown } }
      }
    }
    put?: never
    post?: never
    delete?: never
    patch?: never
  }
  "/public/v1/webhooks/registrations": {
    get: {
      parameters: { path?: never; query?: never; header?: { 'Idempotency-Key'?: string }; cookie?: never }
      requestBody?: never
      responses: {
        200: { content: { "application/json": Array<RegistrationWithHealth> } }
        default: { content: { 'application/json': unknown } }
      }
    }
    put?: never
    post: {
      parameters: { path?: never; query?: never; header?: { 'Idempotency-Key'?: string }; cookie?: never }
      requestBody: { content: { "application/json": NewRegistration } }
      responses: {
        201: { content: { "application/json": Registration } }
        default: { content: { 'application/json': unknown } }
      }
    }
    delete?: never
    patch?: never
  }
  "/public/v1/webhooks/registrations/{id}": {
    get: {
      parameters: { path: {
        id: number
      }; query?: never; header?: { 'Idempotency-Key'?: string }; cookie?: never }
      requestBody?: never
      responses: {
        200: { content: { "application/json": Registration } }
        default: { content: { 'application/json': unknown } }
      }
    }
    put: {
      parameters: { path: {
        id: number
      }; query?: never; header?: { 'Idempotency-Key'?: string }; cookie?: never }
      requestBody: { content: { "application/json": RegistrationChange } }
      responses: {
        200: { content: { "application/json": Registration } }
        default: { content: { 'application/json': unknown } }
      }
    }
    post?: never
    delete: {
      parameters: { path: {
        id: number
      }; query?: never; header?: { 'Idempotency-Key'?: string }; cookie?: never }
      requestBody?: never
      responses: {
        200: { content: { "application/json": Success } }
        default: { content: { 'application/json': unknown } }
      }
    }
    patch?: never
  }
  "/public/v1/webhooks/registrations/{id}/deliveries": {
    get: {
      parameters: { path: {
        id: number
      }; query?: {
        before?: number
        limit?: number
        status?: "pending" | "delivered" | "dead" | "skipped"
        since?: string
        until?: string
      }; header?: { 'Idempotency-Key'?: string }; cookie?: never }
      requestBody?: never
      responses: {
        200: { content: { "application/json": {
        data: Array<Delivery>
        /** The `before` of the next page; null on the last page. */
        nextBefore: number | null
      } } }
        default: { content: { 'application/json': unknown } }
      }
    }
    put?: never
    post?: never
    delete?: never
    patch?: never
  }
  "/public/v1/webhooks/registrations/{id}/deliveries/{deliveryId}": {
    get: {
      parameters: { path: {
        id: number
        deliveryId: number
      }; query?: never; header?: { 'Idempotency-Key'?: string }; cookie?: never }
      requestBody?: never
      responses: {
        200: { content: { "application/json": {
        data: DeliveryDetails
      } } }
        default: { content: { 'application/json': unknown } }
      }
    }
    put?: never
    post?: never
    delete?: never
    patch?: never
  }
  "/public/v1/webhooks/registrations/{id}/logs": {
    get: {
      parameters: { path: {
        id: number
      }; query?: {
        before?: number
        limit?: number
        status?: "delivered" | "failed" | "dead"
      }; header?: { 'Idempotency-Key'?: string }; cookie?: never }
      requestBody?: never
      responses: {
        200: { content: { "application/json": Array<DeliveryAttempt> } }
        default: { content: { 'application/json': unknown } }
      }
    }
    put?: never
    post?: never
    delete?: never
    patch?: never
  }
  "/public/v1/webhooks/registrations/{id}/test": {
    get?: never
    put?: never
    post: {
      parameters: { path: {
        id: number
      }; query?: never; header?: { 'Idempotency-Key'?: string }; cookie?: never }
      requestBody?: never
      responses: {
        200: { content: { "application/json": {
        data: TestDelivery
      } } }
        default: { content: { 'application/json': unknown } }
      }
    }
    delete?: never
    patch?: never
  }
  "/public/v1/webhooks/registrations/{id}/logs/{logId}/redeliver": {
    get?: never
    put?: never
    post: {
      parameters: { path: {
        id: number
        logId: number
      }; query?: never; header?: { 'Idempotency-Key'?: string }; cookie?: never }
      requestBody?: never
      responses: {
        200: { content: { "application/json": Success } }
        default: { content: { 'application/json': unknown } }
      }
    }
    delete?: never
    patch?: never
  }
  "/public/v1/webhooks/registrations/{id}/redeliver": {
    get?: never
    put?: never
    post: {
      parameters: { path: {
        id: number
      }; query?: never; header?: { 'Idempotency-Key'?: string }; cookie?: never }
      requestBody: { content: { "application/json": Redelivery } }
      responses: {
        200: { content: { "application/json": {
        success: true
        /** The number of deliveries that were enqueued. */
        count: number
      } } }
        default: { content: { 'application/json': unknown } }
      }
    }
    delete?: never
    patch?: never
  }
  "/media/{token}": {
    get: {
      parameters: { path: {
        token: string
      }; query?: never; header?: { 'Idempotency-Key'?: string }; cookie?: never }
      requestBody?: never
      responses: {
        200: { content: { "image/jpeg": string; "video/mp4": string; "audio/ogg": string; "*/*": string } }
        206: { content: { "image/jpeg": string; "video/mp4": string; "audio/ogg": string; "*/*": string } }
        default: { content: { 'application/json': unknown } }
      }
    }
    put?: never
    post?: never
    delete?: never
    patch?: never
  }
  "/public/v1/contacts": {
    get: {
      parameters: { path?: never; query?: {
        page?: number
        limit?: number
        search?: string
        sort?: "created_at" | "-created_at" | "updated_at" | "-updated_at" | "email" | "-email"
        before?: string
        after?: string
      }; header?: { 'Idempotency-Key'?: string }; cookie?: never }
      requestBody?: never
      responses: {
        200: { content: { "application/json": {
        data: Array<Contact>
        pagination: ContactPagination
      } } }
        default: { content: { 'application/json': unknown } }
      }
    }
    put?: never
    post: {
      parameters: { path?: never; query?: never; header?: { 'Idempotency-Key'?: string }; cookie?: never }
      requestBody: { content: { "application/json": ContactWrites; "multipart/form-data": ContactWriteForm; "application/x-www-form-urlencoded": ContactWriteForm } }
      responses: {
        200: { content: { "application/json": UpsertedContacts | WrittenFields } }
        default: { content: { 'application/json': unknown } }
      }
    }
    delete?: never
    patch?: never
  }
  "/public/v1/contacts/{id}": {
    get: {
      parameters: { path: {
        id: number
      }; query?: never; header?: { 'Idempotency-Key'?: string }; cookie?: never }
      requestBody?: never
      responses: {
        200: { content: { "application/json": OneContact } }
        default: { content: { 'application/json': unknown } }
      }
    }
    put: {
      parameters: { path: {
        id: number
      }; query?: never; header?: { 'Idempotency-Key'?: string }; cookie?: never }
      requestBody: { content: { "application/json": ContactWrite } }
      responses: {
        200: { content: { "application/json": OneContact } }
        default: { content: { 'application/json': unknown } }
      }
    }
    post?: never
    delete: {
      parameters: { path: {
        id: number
      }; query?: {
        erase?: boolean
      }; header?: { 'Idempotency-Key'?: string }; cookie?: never }
      requestBody?: never
      responses: {
        200: { content: { "application/json": Success } }
        default: { content: { 'application/json': unknown } }
      }
    }
    patch?: never
  }
  "/public/v1/contacts/by-email/{email}": {
    get: {
      parameters: { path: {
        email: string
      }; query?: never; header?: { 'Idempotency-Key'?: string }; cookie?: never }
      requestBody?: never
      responses: {
        200: { content: { "application/json": OneContact } }
        default: { content: { 'application/json': unknown } }
      }
    }
    put?: never
    post?: never
    delete?: never
    patch?: never
  }
  "/public/v1/contacts/{id}/archive": {
    get: {
      parameters: { path: {
        id: number
      }; query?: never; header?: { 'Idempotency-Key'?: string }; cookie?: never }
      requestBody?: never
      responses: {
        200: { content: { "application/x-ndjson": string } }
        default: { content: { 'application/json': unknown } }
      }
    }
    put?: never
    post?: never
    delete?: never
    patch?: never
  }
  "/public/v1/contacts/import": {
    get?: never
    put?: never
    post: {
      parameters: { path?: never; query?: never; header?: { 'Idempotency-Key'?: string }; cookie?: never }
      requestBody: { content: { "text/csv": ContactList; "application/x-ndjson": ContactList } }
      responses: {
        202: { content: { "application/json": {
        data: ContactImport
      } } }
        default: { content: { 'application/json': unknown } }
      }
    }
    delete?: never
    patch?: never
  }
  "/public/v1/contacts/imports": {
    get: {
      parameters: { path?: never; query?: {
        before?: number
        limit?: number
      }; header?: { 'Idempotency-Key'?: string }; cookie?: never }
      requestBody?: never
      responses: {
        200: { content: { "application/json": {
        data: Array<ListedImport>
      } } }
        default: { content: { 'application/json': unknown } }
      }
    }
    put?: never
    post?: never
    delete?: never
    patch?: never
  }
  "/public/v1/contacts/imports/{id}": {
    get: {
      parameters: { path: {
        id: number
      }; query?: never; header?: { 'Idempotency-Key'?: string }; cookie?: never }
      requestBody?: never
      responses: {
        200: { content: { "application/json": {
        data: ContactImport
      } } }
        default: { content: { 'application/json': unknown } }
      }
    }
    put?: never
    post?: never
    delete: {
      parameters: { path: {
        id: number
      }; query?: never; header?: { 'Idempotency-Key'?: string }; cookie?: never }
      requestBody?: never
      responses: {
        200: { content: { "application/json": Success } }
        default: { content: { 'application/json': unknown } }
      }
    }
    patch?: never
  }
  "/public/v1/contacts/imports/{id}/refused": {
    get: {
      parameters: { path: {
        id: number
      }; query?: never; header?: { 'Idempotency-Key'?: string }; cookie?: never }
      requestBody?: never
      responses: {
        200: { content: { "text/csv": string; "application/x-ndjson": string } }
        default: { content: { 'application/json': unknown } }
      }
    }
    put?: never
    post?: never
    delete?: never
    patch?: never
  }
  "/public/v1/contacts/export": {
    get: {
      parameters: { path?: never; query?: {
        format?: "csv" | "ndjson"
        raw?: boolean
      }; header?: { 'Idempotency-Key'?: string }; cookie?: never }
      requestBody?: never
      responses: {
        200: { content: { "text/csv": string; "application/x-ndjson": string } }
        default: { content: { 'application/json': unknown } }
      }
    }
    put?: never
    post?: never
    delete?: never
    patch?: never
  }
  "/public/v1/custom-fields": {
    get: {
      parameters: { path?: never; query?: {
        groupBy?: "category"
      }; header?: { 'Idempotency-Key'?: string }; cookie?: never }
      requestBody?: never
      responses: {
        200: { content: { "application/json": {
        data: Array<CustomField> | CustomFieldGroups
      } } }
        default: { content: { 'application/json': unknown } }
      }
    }
    put?: never
    post: {
      parameters: { path?: never; query?: never; header?: { 'Idempotency-Key'?: string }; cookie?: never }
      requestBody: { content: { "application/json": NewCustomField } }
      responses: {
        201: { content: { "application/json": {
        data: CustomField
      } } }
        default: { content: { 'application/json': unknown } }
      }
    }
    delete?: never
    patch?: never
  }
  "/public/v1/emails/{id}/stats": {
    get: {
      parameters: { path: {
        id: string
      }; query?: never; header?: { 'Idempotency-Key'?: string }; cookie?: never }
      requestBody?: never
      responses: {
        200: { content: { "application/json": {
        data: EmailStats
      } } }
        default: { content: { 'application/json': unknown } }
      }
    }
    put?: never
    post?: never
    delete?: never
    patch?: never
  }
  "/public/v1/emails": {
    get?: never
    put?: never
    post: {
      parameters: { path?: never; query?: never; header?: { 'Idempotency-Key'?: string }; cookie?: never }
      requestBody: { content: { "application/json": NewEmail } }
      responses: {
        201: { content: { "application/json": {
        data: AcceptedEmail
      } } }
        default: { content: { 'application/json': unknown } }
      }
    }
    delete?: never
    patch?: never
  }
  "/public/v1/transactionals/{id}/stats": {
    get: {
      parameters: { path: {
        id: number
      }; query?: never; header?: { 'Idempotency-Key'?: string }; cookie?: never }
      requestBody?: never
      responses: {
        200: { content: { "application/json": {
        data: EmailTemplateStats
      } } }
        default: { content: { 'application/json': unknown } }
      }
    }
    put?: never
    post?: never
    delete?: never
    patch?: never
  }
  "/public/v1/templates/email/send": {
    get?: never
    put?: never
    post: {
      parameters: { path?: never; query?: never; header?: { 'Idempotency-Key'?: string }; cookie?: never }
      requestBody: { content: { "application/json": NewTemplateEmail } }
      responses: {
        200: { content: { "application/json": {
        success: true
        data: AcceptedTemplateEmail
      } } }
        default: { content: { 'application/json': unknown } }
      }
    }
    delete?: never
    patch?: never
  }
  "/public/v1/templates/email": {
    get: {
      parameters: { path?: never; query?: never; header?: { 'Idempotency-Key'?: string }; cookie?: never }
      requestBody?: never
      responses: {
        200: { content: { "application/json": {
        data: Array<EmailTemplateItem>
      } } }
        default: { content: { 'application/json': unknown } }
      }
    }
    put?: never
    post?: never
    delete?: never
    patch?: never
  }
  "/admin/v1/companies": {
    get: {
      parameters: { path?: never; query?: never; header?: { 'Idempotency-Key'?: string }; cookie?: never }
      requestBody?: never
      responses: {
        200: { content: { "application/json": Array<Company> } }
        default: { content: { 'application/json': unknown } }
      }
    }
    put?: never
    post: {
      parameters: { path?: never; query?: never; header?: { 'Idempotency-Key'?: string }; cookie?: never }
      requestBody: { content: { "application/json": CompanyRequest } }
      responses: {
        201: { content: { "application/json": Company } }
        default: { content: { 'application/json': unknown } }
      }
    }
    delete?: never
    patch?: never
  }
  "/admin/v1/companies/{id}": {
    get: {
      parameters: { path: {
        id: number
      }; query?: never; header?: { 'Idempotency-Key'?: string }; cookie?: never }
      requestBody?: never
      responses: {
        200: { content: { "application/json": Company } }
        default: { content: { 'application/json': unknown } }
      }
    }
    put?: never
    post?: never
    delete: {
      parameters: { path: {
        id: number
      }; query?: never; header?: { 'Idempotency-Key'?: string }; cookie?: never }
      requestBody?: never
      responses: {
        200: { content: { "application/json": Success } }
        default: { content: { 'application/json': unknown } }
      }
    }
    patch: {
      parameters: { path: {
        id: number
      }; query?: never; header?: { 'Idempotency-Key'?: string }; cookie?: never }
      requestBody: { content: { "application/json": CompanyChange } }
      responses: {
        200: { content: { "application/json": Company } }
        default: { content: { 'application/json': unknown } }
      }
    }
  }
  "/admin/v1/companies/{id}/api-keys": {
    get: {
      parameters: { path: {
        id: number
      }; query?: never; header?: { 'Idempotency-Key'?: string }; cookie?: never }
      requestBody?: never
      responses: {
        200: { content: { "application/json": Array<ApiKey> } }
        default: { content: { 'application/json': unknown } }
      }
    }
    put?: never
    post: {
      parameters: { path: {
        id: number
      }; query?: never; header?: { 'Idempotency-Key'?: string }; cookie?: never }
      requestBody: { content: { "application/json": ApiKeyRequest } }
      responses: {
        201: { content: { "application/json": NewApiKey } }
        default: { content: { 'application/json': unknown } }
      }
    }
    delete?: never
    patch?: never
  }
  "/admin/v1/companies/{id}/api-keys/{clientId}": {
    get?: never
    put?: never
    post?: never
    delete: {
      parameters: { path: {
        id: number
        clientId: string
      }; query?: never; header?: { 'Idempotency-Key'?: string }; cookie?: never }
      requestBody?: never
      responses: {
        200: { content: { "application/json": Success } }
        default: { content: { 'application/json': unknown } }
      }
    }
    patch: {
      parameters: { path: {
        id: number
        clientId: string
      }; query?: never; header?: { 'Idempotency-Key'?: string }; cookie?: never }
      requestBody: { content: { "application/json": ApiKeyChange } }
      responses: {
        200: { content: { "application/json": ApiKey } }
        default: { content: { 'application/json': unknown } }
      }
    }
  }
  "/admin/v1/companies/{id}/senders": {
    get: {
      parameters: { path: {
        id: number
      }; query?: never; header?: { 'Idempotency-Key'?: string }; cookie?: never }
      requestBody?: never
      responses: {
        200: { content: { "application/json": Array<ConnectedSender> } }
        default: { content: { 'application/json': unknown } }
      }
    }
    put?: never
    post: {
      parameters: { path: {
        id: number
      }; query?: never; header?: { 'Idempotency-Key'?: string }; cookie?: never }
      requestBody: { content: { "application/json": ConnectSenderRequest } }
      responses: {
        201: { content: { "application/json": ConnectedSender } }
        default: { content: { 'application/json': unknown } }
      }
    }
    delete?: never
    patch?: never
  }
  "/admin/v1/companies/{id}/senders/{channelId}": {
    get: {
      parameters: { path: {
        id: number
        channelId: number
      }; query?: never; header?: { 'Idempotency-Key'?: string }; cookie?: never }
      requestBody?: never
      responses: {
        200: { content: { "application/json": ConnectedSender } }
        default: { content: { 'application/json': unknown } }
      }
    }
    put?: never
    post?: never
    delete: {
      parameters: { path: {
        id: number
        channelId: number
      }; query?: never; header?: { 'Idempotency-Key'?: string }; cookie?: never }
      requestBody?: never
      responses: {
        200: { content: { "application/json": Success } }
        default: { content: { 'application/json': unknown } }
      }
    }
    patch: {
      parameters: { path: {
        id: number
        channelId: number
      }; query?: never; header?: { 'Idempotency-Key'?: string }; cookie?: never }
      requestBody: { content: { "application/json": ConnectedSenderChange } }
      responses: {
        200: { content: { "application/json": ConnectedSender } }
        default: { content: { 'application/json': unknown } }
      }
    }
  }
  "/admin/v1/companies/{id}/templates/sync": {
    get?: never
    put?: never
    post: {
      parameters: { path: {
        id: number
      }; query?: never; header?: { 'Idempotency-Key'?: string }; cookie?: never }
      requestBody?: never
      responses: {
        200: { content: { "application/json": TemplateSync } }
        default: { content: { 'application/json': unknown } }
      }
    }
    delete?: never
    patch?: never
  }
  "/admin/v1/companies/{id}/email-templates": {
    get: {
      parameters: { path: {
        id: number
      }; query?: never; header?: { 'Idempotency-Key'?: string }; cookie?: never }
      requestBody?: never
      responses: {
        200: { content: { "application/json": Array<EmailTemplate> } }
        default: { content: { 'application/json': unknown } }
      }
    }
    put?: never
    post: {
      parameters: { path: {
        id: number
      }; query?: never; header?: { 'Idempotency-Key'?: string }; cookie?: never }
      requestBody: { content: { "application/json": EmailTemplateRequest } }
      responses: {
        201: { content: { "application/json": EmailTemplate } }
        default: { content: { 'application/json': unknown } }
      }
    }
    delete?: never
    patch?: never
  }
  "/admin/v1/companies/{id}/email-templates/{templateId}": {
    get: {
      parameters: { path: {
        id: number
        templateId: string
      }; query?: never; header?: { 'Idempotency-Key'?: string }; cookie?: never }
      requestBody?: never
      responses: {
        200: { content: { "application/json": EmailTemplate } }
        default: { content: { 'application/json': unknown } }
      }
    }
    put?: never
    post?: never
    delete: {
      parameters: { path: {
        id: number
        templateId: string
      }; query?: never; header?: { 'Idempotency-Key'?: string }; cookie?: never }
      requestBody?: never
      responses: {
        200: { content: { "application/json": Success } }
        default: { content: { 'application/json': unknown } }
      }
    }
    patch: {
      parameters: { path: {
        id: number
        templateId: string
      }; query?: never; header?: { 'Idempotency-Key'?: string }; cookie?: never }
      requestBody: { content: { "application/json": EmailTemplateChange } }
      responses: {
        200: { content: { "application/json": EmailTemplate } }
        default: { content: { 'application/json': unknown } }
      }
    }
  }
  "/admin/v1/companies/{id}/email-settings": {
    get: {
      parameters: { path: {
        id: number
      }; query?: never; header?: { 'Idempotency-Key'?: string }; cookie?: never }
      requestBody?: never
      responses: {
        200: { content: { "application/json": EmailSettings } }
        default: { content: { 'application/json': unknown } }
      }
    }
    put: {
      parameters: { path: {
        id: number
      }; query?: never; header?: { 'Idempotency-Key'?: string }; cookie?: never }
      requestBody: { content: { "application/json": EmailSettingsRequest } }
      responses: {
        200: { content: { "application/json": EmailSettings } }
        default: { content: { 'application/json': unknown } }
      }
    }
    post?: never
    delete?: never
    patch?: never
  }
  "/admin/v1/unroutable-events": {
    get: {
      parameters: { path?: never; query?: {
        before?: number
        limit?: number
      }; header?: { 'Idempotency-Key'?: string }; cookie?: never }
      requestBody?: never
      responses: {
        200: { content: { "application/json": Array<FailedEvent> } }
        default: { content: { 'application/json': unknown } }
      }
    }
    put?: never
    post?: never
    delete?: never
    patch?: never
  }
  "/admin/v1/unroutable-events/{id}": {
    get: {
      parameters: { path: {
        id: number
      }; query?: never; header?: { 'Idempotency-Key'?: string }; cookie?: never }
      requestBody?: never
      responses: {
        200: { content: { "application/json": FailedEvent } }
        default: { content: { 'application/json': unknown } }
      }
    }
    put?: never
    post?: never
    delete?: never
    patch?: never
  }
  "/admin/v1/failed-events": {
    get: {
      parameters: { path?: never; query?: {
        before?: number
        limit?: number
      }; header?: { 'Idempotency-Key'?: string }; cookie?: never }
      requestBody?: never
      responses: {
        200: { content: { "application/json": Array<FailedEvent> } }
        default: { content: { 'application/json': unknown } }
      }
    }
    put?: never
    post?: never
    delete?: never
    patch?: never
  }
  "/admin/v1/failed-events/{id}": {
    get: {
      parameters: { path: {
        id: number
      }; query?: never; header?: { 'Idempotency-Key'?: string }; cookie?: never }
      requestBody?: never
      responses: {
        200: { content: { "application/json": FailedEvent } }
        default: { content: { 'application/json': unknown } }
      }
    }
    put?: never
    post?: never
    delete?: never
    patch?: never
  }
  "/admin/v1/failed-events/{id}/retry": {
    get?: never
    put?: never
    post: {
      parameters: { path: {
        id: number
      }; query?: never; header?: { 'Idempotency-Key'?: string }; cookie?: never }
      requestBody?: never
      responses: {
        200: { content: { "application/json": Success } }
        default: { content: { 'application/json': unknown } }
      }
    }
    delete?: never
    patch?: never
  }
  "/admin/v1/account-events": {
    get: {
      parameters: { path?: never; query?: {
        before?: number
        limit?: number
      }; header?: { 'Idempotency-Key'?: string }; cookie?: never }
      requestBody?: never
      responses: {
        200: { content: { "application/json": Array<AccountEvent> } }
        default: { content: { 'application/json': unknown } }
      }
    }
    put?: never
    post?: never
    delete?: never
    patch?: never
  }
  "/admin/v1/companies/{id}/account-events": {
    get: {
      parameters: { path: {
        id: number
      }; query?: {
        before?: number
        limit?: number
      }; header?: { 'Idempotency-Key'?: string }; cookie?: never }
      requestBody?: never
      responses: {
        200: { content: { "application/json": Array<AccountEvent> } }
        default: { content: { 'application/json': unknown } }
      }
    }
    put?: never
    post?: never
    delete?: never
    patch?: never
  }
  "/admin/v1/failed-jobs": {
    get: {
      parameters: { path?: never; query?: never; header?: { 'Idempotency-Key'?: string }; cookie?: never }
      requestBody?: never
      responses: {
        200: { content: { "application/json": Array<FailedJob> } }
        default: { content: { 'application/json': unknown } }
      }
    }
    put?: never
    post?: never
    delete?: never
    patch?: never
  }
  "/admin/v1/failed-jobs/{id}/retry": {
    get?: never
    put?: never
    post: {
      parameters: { path: {
        id: number
      }; query?: {
        companyId?: string
      }; header?: { 'Idempotency-Key'?: string }; cookie?: never }
      requestBody?: never
      responses: {
        200: { content: { "application/json": Success } }
        default: { content: { 'application/json': unknown } }
      }
    }
    delete?: never
    patch?: never
  }
  "/public/v1/console/sign-in-links": {
    get?: never
    put?: never
    post: {
      parameters: { path?: never; query?: never; header?: { 'Idempotency-Key'?: string }; cookie?: never }
      requestBody: { content: { "application/json": SignInLinkRequest } }
      responses: {
        201: { content: { "application/json": SignInLink } }
        default: { content: { 'application/json': unknown } }
      }
    }
    delete?: never
    patch?: never
  }
  "/admin/v1/companies/{id}/sign-in-links": {
    get?: never
    put?: never
    post: {
      parameters: { path: {
        id: number
      }; query?: never; header?: { 'Idempotency-Key'?: string }; cookie?: never }
      requestBody: { content: { "application/json": SignInLinkRequest } }
      responses: {
        201: { content: { "application/json": SignInLink } }
        default: { content: { 'application/json': unknown } }
      }
    }
    delete?: never
    patch?: never
  }
}
