// Generated from openapi.json by `npm run generate`. Do not edit.

export type AcceptedEmail = {
  /** Email id, `eml_…`. */
  id: string
  /** URL of the email's statistics. */
  statsUrl: string
  status: "pending"
}

export type AcceptedTemplateEmail = {
  success: true
  /** Email id, `eml_…`. */
  id: string
  /** URL of the email's statistics. */
  statsUrl: string
}

export type AnyMediaById = {
  /** Provider file id, uploaded to the sending number. */
  providerMediaId: string
  /** Text below the file. */
  caption?: string
  /** File name shown to the customer. */
  filename?: string
  /** Sends audio as a voice note; the file must be Ogg with Opus. */
  voice?: boolean
}

export type AnyMediaByLink = {
  /** An https URL from which the provider downloads the file. */
  link: string
  /** Text below the file. */
  caption?: string
  /** File name shown to the customer. */
  filename?: string
  /** Sends audio as a voice note; the file must be Ogg with Opus. */
  voice?: boolean
}

export type AnyMediaByMediaId = {
  /** Media id from `uploadMedia`. */
  mediaId: string
  /** Text below the file. */
  caption?: string
  /** File name shown to the customer. */
  filename?: string
  /** Sends audio as a voice note; the file must be Ogg with Opus. */
  voice?: boolean
}

export type Assignee = {
  /** Name, as accepted by a conversation's `assignee`. */
  name: string
  /** Start of the latest session with this name; null if only conversations were assigned to the name. */
  signedInAt: string | null
}

export type AudioById = {
  /** Provider file id, uploaded to the sending number. */
  providerMediaId: string
  /** File name shown to the customer. */
  filename?: string
  /** Sends audio as a voice note; the file must be Ogg with Opus. */
  voice?: boolean
}

export type AudioByLink = {
  /** An https URL from which the provider downloads the file. */
  link: string
  /** File name shown to the customer. */
  filename?: string
  /** Sends audio as a voice note; the file must be Ogg with Opus. */
  voice?: boolean
}

export type AudioByMediaId = {
  /** Media id from `uploadMedia`. */
  mediaId: string
  /** File name shown to the customer. */
  filename?: string
  /** Sends audio as a voice note; the file must be Ogg with Opus. */
  voice?: boolean
}

export type BadRequest = {
  code: "bad_request"
  message: string
  details?: FieldFaults
}

/** A button that opens a URL. */
export type CallToAction = {
  type: "cta_url"
  /** A line of text or a file above the body. */
  header?: {
    type: "text"
    text: string
  } | {
    type: "image"
    image: {
      link: string
    } | {
      /** Provider file id, uploaded to the sending number. */
      id: string
    } | {
      /** Media id from `uploadMedia`. */
      mediaId: string
    }
  } | {
    type: "video"
    video: {
      link: string
    } | {
      /** Provider file id, uploaded to the sending number. */
      id: string
    } | {
      /** Media id from `uploadMedia`. */
      mediaId: string
    }
  } | {
    type: "document"
    document: {
      link: string
      filename?: string
    } | {
      /** Provider file id, uploaded to the sending number. */
      id: string
      filename?: string
    } | {
      /** Media id from `uploadMedia`. */
      mediaId: string
      filename?: string
    }
  }
  body: {
    text: string
  }
  footer?: {
    text: string
  }
  action: {
    name: "cta_url"
    parameters: {
      display_text: string
      url: string
    }
  }
}

export type CaptionedMediaById = {
  /** Provider file id, uploaded to the sending number. */
  providerMediaId: string
  /** Text below the file. */
  caption?: string
  /** File name shown to the customer. */
  filename?: string
}

export type CaptionedMediaByLink = {
  /** An https URL from which the provider downloads the file. */
  link: string
  /** Text below the file. */
  caption?: string
  /** File name shown to the customer. */
  filename?: string
}

export type CaptionedMediaByMediaId = {
  /** Media id from `uploadMedia`. */
  mediaId: string
  /** Text below the file. */
  caption?: string
  /** File name shown to the customer. */
  filename?: string
}

export type ConsentEntry = {
  /** Entry id. */
  id: number
  channel: "email" | "whatsapp"
  /** True for an opt-in, false for an opt-out. */
  value: boolean
  /** Time of the statement, or of its latest repetition. */
  at: string
  /** First time of a repeated statement; null if made once. */
  firstAt: string | null
  /** Origin: `api`, `import`, `unsubscribe`, `provider`, `erasure` or another one. */
  source: string
  /** IP address that gave consent, if contained in an imported list. */
  ip: string | null
  /** API key or console session name; null if there is none. */
  keyName: string | null
}

export type Contact = {
  /** Contact id. */
  id: number
  /** Email address. */
  email: string | null
  /** Phone number in E.164 with +. */
  phone: string | null
  /** First name. */
  first_name: string | null
  /** Last name. */
  last_name: string | null
  /** Status, `active` unless set by a write. */
  status: string
  /** Source, `API` unless set by a write. */
  source: string
  /** `database`, `third_party`, or a value set by the service. */
  source_type: string
  /** Id in an external system. */
  external_id: string | null
  created_at: string
  updated_at: string
  /** Custom fields by key. */
  custom_fields: {
    [name: string]: unknown
  }
  tags: Array<string>
  /** Whether the contact wants marketing on a channel; null if unknown. */
  marketing_consent: {
    email: boolean | null
    whatsapp: boolean | null
  }
  /** Company id. */
  company: number
  /** False in answers: only the deletion event shows a deleted contact. */
  deleted: boolean
  /** Id of the connection to that system. */
  external_connection_id: number | null
  /** Why the address gets no marketing email: a permanent bounce or a spam complaint. Present in reads and events while the address is suppressed; absent in answers to writes. */
  email_suppression?: {
    reason: "bounce" | "complaint"
    since: string
  }
}

export type ContactActivity = {
  type: "conversation" | "email"
  /** Time of the conversation's last message, or when the email was accepted. */
  at: string
  /** The conversation; null for an email. */
  conversation: Conversation | null
  /** The email; null for a conversation. */
  email: EmailStats | null
}

/** A contact card in the provider's format. */
export type ContactCard = {
  /** Full name and at least one of its parts. */
  name: {
    /** Full name. */
    formatted_name: string
    first_name?: string
    middle_name?: string
    last_name?: string
    prefix?: string
    suffix?: string
  }
  phones?: Array<{
    phone?: string
    /** WhatsApp number: adds a button to start a chat. */
    wa_id?: string
    /** Label, such as `WORK` or `HOME`. */
    type?: string
  }>
  emails?: Array<{
    email: string
    /** Label, such as `WORK` or `HOME`. */
    type?: string
  }>
  urls?: Array<{
    url: string
    /** Label, such as `WORK` or `HOME`. */
    type?: string
  }>
  addresses?: Array<{
    street?: string
    city?: string
    state?: string
    zip?: string
    country?: string
    country_code?: string
    /** Label, such as `WORK` or `HOME`. */
    type?: string
  }>
  org?: {
    company?: string
    department?: string
    title?: string
  }
  /** As `YYYY-MM-DD`. */
  birthday?: string
}

export type ContactChangedEvent = {
  /** Envelope version; unchanged by additions. */
  version: "1"
  event: "contact.changed"
  /** Event id. Use it to detect repeats. */
  id: string
  /** Company id. */
  companyId: number
  /** Event time. */
  createdAt: string
  /** What changed. */
  change: "created" | "updated" | "deleted" | "consent"
  data: Contact
}

export type ContactImport = ListedImport & {
  /** The first 100 refused rows; `/public/v1/contacts/imports/{id}/refused` returns all. */
  refusals: Array<{
    line: number
    reason: string
  }>
  /** Unknown columns, only in the answer to the import request. */
  ignored_columns?: Array<string>
}

export type ContactPagination = {
  /** Current page; null if read by cursor. */
  page: number | null
  /** Contacts per page. */
  limit: number
  /** Number of contacts on all pages. */
  total: number
  /** Number of pages. */
  totalPages: number
  hasNext: boolean
  hasPrevious: boolean
  /** False if a search or filter may have more matches than `total`, since at most 10,000 contacts are examined. */
  totalIsExact: boolean
  /** Cursor of the next page: pass as `before` if the sort descends, as `after` if it ascends; null if there is none. */
  nextCursor: string | null
  /** Cursor of the previous page, to pass as the other parameter; null if there is none. */
  previousCursor: string | null
}

/** Asks a customer who hides the phone number to share it; the number comes back in `contacts`. */
export type ContactRequest = {
  type: "request_contact_info"
  body: {
    text: string
  }
  action: {
    name: "request_contact_info"
  }
}

/** A contact to write, with the names of this schema or of the record. Omitted members keep their values; members set only by the service must match their stored values. */
export type ContactWrite = {
  /** One address, compared without regard to case. In an update, null removes it. */
  email?: string | null
  /** Number with country code, with or without +; spaces, dashes, dots, slashes and parentheses are dropped. Without + and 00, read first as a national number of the company's `defaultCountry`. The length must exist in the number's country. In an update, null removes it. */
  phone?: string | null
  /** Null or an empty string removes it. */
  firstName?: string | null
  /** Null or an empty string removes it. */
  lastName?: string | null
  /** Defaults to `active` for a new contact. */
  status?: string
  /** Defaults to `API` for a new contact. */
  source?: string
  /** Defaults to `database` for a new contact. One of database, third_party; another value only if already set. */
  source_type?: string
  /** Null or an empty string removes it. */
  externalId?: string | null
  /** Replaces all tags. */
  tags?: Array<string>
  /** Any JSON values by key, merged into the contact's; null removes a key. A contact can have at most 200 keys and 65536 bytes. */
  customFields?: {
    [name: string]: unknown
  }
  /** True opts in and false opts out; an omitted channel keeps its consent. */
  marketingConsent?: {
    email?: boolean
    whatsapp?: boolean
  }
  /** For keys with only `ContactsUpsert`: hex HMAC-SHA256 of the lower-case email, or of the phone's digits, with the key's identity secret. Allows the write to change this contact's email and phone and to end opt-outs. */
  identityProof?: string
  /** Null or an empty string removes it. */
  first_name?: string | null
  /** Null or an empty string removes it. */
  last_name?: string | null
  /** Null or an empty string removes it. */
  external_id?: string | null
  /** Any JSON values by key, merged into the contact's; null removes a key. A contact can have at most 200 keys and 65536 bytes. */
  custom_fields?: {
    [name: string]: unknown
  }
  /** Same as `marketingConsent`; null only where consent is unknown. In an update, an unchanged value is not a new statement. */
  marketing_consent?: {
    email?: boolean | null
    whatsapp?: boolean | null
  }
  /** Contact id. */
  id?: number
  /** Company id. */
  company?: number
  created_at?: string
  updated_at?: string
  /** False in answers: only the deletion event shows a deleted contact. */
  deleted?: boolean
  /** Id of the connection to that system. */
  external_connection_id?: number | null
  /** Why the address gets no marketing email: a permanent bounce or a spam complaint. Present in reads and events while the address is suppressed; absent in answers to writes. */
  email_suppression?: {
    reason: "bounce" | "complaint"
    since: string
  }
}

/** One contact, or up to 1,000 (10 with a key with only `ContactsUpsert`), written all or none. Forms have fields such as `customFields.<key>` and `marketingConsent.email` (`true`, `false`, `1`, `0`), and `tags` once per tag. */
export type ContactWrites = ContactWrite | Array<ContactWrite>

export type Conversation = {
  /** Conversation id. */
  chatId: number
  contact: {
    /** Contact id. */
    id: number
    /** Number that replies go to, in digits; null for a group, and while the customer's phone number is unknown. */
    phone: string | null
    /** Contact name, else the WhatsApp profile name; for a group its id. */
    name: string | null
    /** User id at the provider, accepted as `recipient` of a send; null while unknown. */
    userId: string | null
  }
  sender: {
    /** Id of the connected number. */
    channelId: number
    /** Display phone number. */
    phoneNumber: string
    /** Display name of the business. */
    phoneName: string
  }
  window: {
    /** Whether the customer wrote less than 24 hours ago: free text may be sent. */
    isOpen: boolean
    /** End of the window; null if the customer never wrote. */
    closesAt: string | null
  }
  /** Name of the person who answers. */
  assignee: string | null
  /** Whether the business or the provider's AI agent answers; null if not reported. */
  controlledBy: "business" | "agent" | null
  referral: {
    [name: string]: unknown
  } | null
  /** Group id at the provider; null for a conversation with one customer. */
  groupId: string | null
  status: "open" | "closed" | "snoozed"
  /** Number of inbound messages since the last outbound one, or since the conversation was read. */
  unreadMessages: number
  lastMessage: {
    /** Message id; null if deleted. */
    id: number | null
    /** Text, caption or a placeholder. */
    text: string | null
    /** Inbound messages come from the customer, outbound ones from the business. */
    direction: "inbound" | "outbound"
    /** Null if the message is deleted. */
    status: "received" | "pending" | "sent" | "delivered" | "read" | "failed" | "unknown" | null
    /** Message kind, such as `text` or `sticker`; null if the message is deleted. */
    kind: string | null
    /** Number of products in an order, or of contact cards; null for other kinds. */
    itemCount: number | null
    /** Time in epoch seconds. */
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
  /** Name of the person who answers. */
  assignee?: string | null
}

export type ConversationPagination = {
  /** Number of records on all pages; null with a filter. */
  totalRecords: number | null
  /** Current page. */
  currentPage: number
  /** Number of pages; null with a filter. */
  totalPages: number | null
  /** Next page; null on the last page. */
  nextPage: number | null
  /** Previous page; null on the first page. */
  prevPage: number | null
  /** Cursor of the next page, to pass as `before`; null on the last page. */
  nextCursor: string | null
  /** Cursor of the previous page, to pass as `after`; null on the first page. */
  previousCursor: string | null
}

export type CustomField = {
  id: number
  /** Key in upper case. */
  key: string
  /** Label to show. */
  displayName: string
  type: "text" | "number" | "boolean" | "date" | "datetime" | "select" | "json"
  /** Field group. */
  category: string | null
  /** Whether the field is visible. */
  visibility: boolean
  /** `Manual` for fields created through the API. */
  source: string
  /** Allowed values, for type `select`. */
  allowedValues: Array<string> | null
  /** Any JSON members. */
  metadata: {
    [name: string]: unknown
  } | null
  /** When the field was retired; null if in use. */
  retiredAt: string | null
}

export type CustomFieldChange = {
  /** Label to show. */
  displayName?: string
  /** Field group; null or empty for none. */
  category?: string | null
  /** Whether the field is visible. */
  visibility?: boolean
  /** Allowed values, for type `select` only; null for other types. Stored values stay. */
  allowedValues?: Array<string> | null
  /** Whether the field is retired; false restores it. */
  retired?: boolean
  id?: number
  /** Key in upper case. */
  key?: string
  type?: "text" | "number" | "boolean" | "date" | "datetime" | "select" | "json"
  /** `Manual` for fields created through the API. */
  source?: string
  /** Any JSON members. */
  metadata?: {
    [name: string]: unknown
  } | null
  /** When the field was retired; null if in use. */
  retiredAt?: string | null
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
  /** Number of fields in all groups. */
  total: number
}

export type CustomFieldOrder = {
  /** Definition ids in the desired order. */
  ids: Array<number>
}

export type Delivery = {
  id: number
  registrationId: number
  /** Event name. */
  event: string
  /** Event id, sent to receivers in the `Delivery` header. */
  eventId: string
  /** The received message's id at the provider; null for other events. */
  wamid: string | null
  /** `dead`: the last attempt failed or the deadline passed. `skipped`: the registration became inactive. */
  status: "pending" | "delivered" | "dead" | "skipped"
  /** Number of attempts, since the last redelivery if there was one. */
  attempts: number
  /** Status of the latest attempt; null without an answer. */
  lastStatusCode: number | null
  createdAt: string
  /** Time of the next attempt; null if there is none. */
  nextAttemptAt: string | null
}

export type DeliveryAttempt = {
  id: number
  /** Id shared by all attempts of one delivery. */
  deliveryId: number
  /** Attempt number. */
  attempt: number
  /** Delivered body. */
  payload: {
    [name: string]: unknown
  }
  /** Body of the receiver's answer. */
  response: string | null
  /** Status of the receiver's answer; null if there was none. */
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
  /** The body exactly as signed and sent. */
  payload: string
  /** Headers of the latest attempt, or of the one in `headersOf`, with the registration's current settings; `…` replaces the value of a static header. */
  requestHeaders: {
    [name: string]: string
  }
  /** Latest attempts, newest first, at most 100. */
  attempts: Array<{
    /** Attempt id, accepted by `redeliver`. */
    id: number
    attempt: number
    /** Counts from 1; each redelivery starts another round. */
    round: number
    /** Status of the answer. */
    statusCode: number | null
    /** Body of the answer. */
    response: string | null
    /** Why the attempt failed. */
    errorMessage: string | null
    durationMs: number
    sentAt: string
  }>
}

export type DeprecationWarning = {
  /** An explanation. */
  message: string
  /** Removal date of this endpoint. */
  deprecationDate: string
  /** Endpoint to use instead. */
  migrateTo: string
  /** URL of the API reference. */
  docsUrl: string
}

export type EmailStats = {
  /** Email id, `eml_…`. */
  id: string
  status: "pending" | "sent" | "failed" | "bounced"
  to: string
  subject: string
  /** When the email was accepted. */
  sentAt: string
  /** Whether the open pixel was fetched. */
  opened: boolean
  /** First fetch of the pixel. */
  firstOpenAt: string | null
  /** Number of tracked link fetches. */
  clickCount: number
  /** First fetch of a tracked link. */
  firstClickAt: string | null
  /** Why the email failed or bounced, in the mail server's words. */
  failureReason: string | null
  /** When the bounce was reported. */
  bouncedAt: string | null
  /** When the recipient reported the email as spam. */
  complainedAt: string | null
  /** How many of the counted fetches look automated (proxies, scanners). */
  suspectedMachine: {
    opens: number
    clicks: number
  }
}

export type EmailStatusEvent = {
  /** Envelope version; unchanged by additions. */
  version: "1"
  event: "email.status"
  /** Event id. Use it to detect repeats. */
  id: string
  /** Company id. */
  companyId: number
  /** Event time. */
  createdAt: string
  /** What changed. */
  change: "sent" | "failed" | "bounced" | "opened" | "clicked" | "unsubscribed"
  data: EmailStats
}

export type EmailTemplateItem = {
  /** Id to pass as `uid` of a send. */
  id: string
  /** Id for the statistics. */
  transactionalId: number
  name: string
  subject: string
  status: "active"
  category: string
  createdAt: string
  /** Variable names. */
  variables: Array<string>
}

export type EmailTemplateStats = {
  created: string
  /** Share of sent emails that were opened. */
  openRate: string
  /** Share of sent emails with a click. */
  clickRate: string
  /** Number of sent emails. */
  totalMessagesSent: number
  /** Number of bounced emails. */
  totalBounced: number
  /** Number of emails reported as spam. */
  totalComplaints: number
}

export type Envelope = {
  /** Envelope version; unchanged by additions. */
  version: "1"
  event: "whatsapp.message.received"
  /** Company id. */
  companyId: number
  channel: {
    provider: "dialog360" | "gupshup" | "meta"
    /** Digits of the receiving number. */
    phoneNumber: string | null
    /** Number id. */
    channelId: number | null
  }
  contact: {
    /** Digits; null while the customer hides the phone number. */
    phone: string | null
    /** Profile name. */
    name: string | null
    /** User id at the provider. */
    userId: string | null
  }
  message: EnvelopeMessage
  /** The provider's JSON for this message, not part of the contract. */
  raw: {
    [name: string]: unknown
  }
}

/** The call. */
export type EnvelopeCall = {
  /** Inbound: the customer called. */
  direction: "inbound" | "outbound"
  /** `missed`: ended without an answer. */
  status: "ringing" | "completed" | "missed" | "failed"
  /** When the call was answered, or when it rang if unanswered. */
  startedAt: string | null
  /** When the call ended. */
  endedAt: string | null
  /** The provider's call events, such as `terminate`. */
  events: Array<string>
}

/** Answer to a call permission request. */
export type EnvelopeCallPermission = {
  /** `accept` or `reject`. */
  response: string | null
  /** Who answered: `user_action`, or `automatic` after a call from the customer. */
  source: string | null
  /** Whether the permission is permanent. */
  isPermanent: boolean | null
  /** End of the permission. */
  expiresAt: string | null
}

export type EnvelopeMedia = {
  /** A sticker is an `image`. */
  kind: "image" | "video" | "audio" | "document"
  /** MIME type. */
  mimeType: string | null
  /** File name. */
  filename: string | null
  /** Text below the file. */
  caption: string | null
  /** Whether the file is a voice note. */
  voice: boolean
  /** File id at the provider. */
  providerMediaId: string | null
}

export type EnvelopeMessage = {
  /** Message id at the provider. */
  wamid: string
  /** The provider's type, except that a sticker is an `image` and a voice note an `audio`. */
  type: string
  /** Text, caption, button title or new text of an edit, else a placeholder such as `[image]`. */
  text: string | null
  media?: EnvelopeMedia
  reaction?: EnvelopeReaction
  /** Whether the business wrote the message in its phone app. */
  isEcho: boolean
  /** Time in epoch seconds. */
  timestamp: number | null
  /** The same time in ISO 8601. */
  timestampIso: string | null
  reply: EnvelopeReply | null
  /** The quoted message. */
  quotedWamid: string | null
  /** The edited or revoked message; for a call event, the call's message. */
  originalWamid: string | null
  /** The message's group; `contact` is the writer. */
  groupId: string | null
  referral: {
    [name: string]: unknown
  } | null
  location: {
    [name: string]: unknown
  } | null
  contacts: Array<{
    [name: string]: unknown
  }> | null
  order: {
    [name: string]: unknown
  } | null
  /** Whether the customer forwarded the message from another chat. */
  forwarded: boolean
  /** Whether the message was forwarded many times. */
  frequentlyForwarded: boolean
  referredProduct: {
    [name: string]: unknown
  } | null
  call: EnvelopeCall | null
  error: MessageFailure | null
}

export type EnvelopeReaction = {
  /** The target of the reaction. */
  targetWamid: string | null
  /** The emoji; null if the reaction was removed. */
  emoji: string | null
}

/** The customer's choice. */
export type EnvelopeReply = {
  /** Id of the button or list row. */
  id: string | null
  /** Title of the button or row. */
  title: string | null
  /** Description of the list row. */
  description: string | null
  /** Payload of the template button. */
  payload: string | null
  /** Flow answers as JSON text. */
  responseJson: string | null
  callPermission: EnvelopeCallPermission | null
}

/** An error with a code for programs and a message for readers. */
export type CodedError = BadRequest | TemplateNotFound | Gone | ValidationError | InvalidPhoneNumber | TemplateNotApproved | ParameterMismatch | SessionWindowClosed | RateLimitExceeded | ErrorWithoutDetails

export type ErrorWithoutDetails = {
  code: "invalid_group_by" | "unauthorized" | "forbidden" | "not_found" | "WHATSAPP_SENDER_NOT_FOUND" | "no_whatsapp_account" | "request_timeout" | "duplicate_resource" | "idempotency_key_in_use" | "session_exists" | "already_sent" | "payload_too_large" | "unsupported_media_type" | "range_not_satisfiable" | "expectation_failed" | "recipient_not_on_whatsapp" | "idempotency_key_reused" | "internal_error" | "service_unavailable" | "send_outcome_unknown"
  message: string
}

export type FieldFaults = {
  /** Every invalid field, at most 100. */
  fields: Array<{
    /** Path in the request, such as `template.components[0].type`. */
    path: string
    /** What is wrong with the value. */
    message: string
  }>
}

/** A button that opens a flow; its answers come back as `reply.responseJson`. */
export type FlowMessage = {
  type: "flow"
  /** A line of text or a file above the body. */
  header?: {
    type: "text"
    text: string
  } | {
    type: "image"
    image: {
      link: string
    } | {
      /** Provider file id, uploaded to the sending number. */
      id: string
    } | {
      /** Media id from `uploadMedia`. */
      mediaId: string
    }
  } | {
    type: "video"
    video: {
      link: string
    } | {
      /** Provider file id, uploaded to the sending number. */
      id: string
    } | {
      /** Media id from `uploadMedia`. */
      mediaId: string
    }
  } | {
    type: "document"
    document: {
      link: string
      filename?: string
    } | {
      /** Provider file id, uploaded to the sending number. */
      id: string
      filename?: string
    } | {
      /** Media id from `uploadMedia`. */
      mediaId: string
      filename?: string
    }
  }
  body: {
    text: string
  }
  footer?: {
    text: string
  }
  action: {
    name: "flow"
    parameters: {
      flow_id: string
      flow_message_version: "3"
      /** Text of the button that opens the flow. */
      flow_cta: string
      /** Identifies the opening message to the flow. */
      flow_token?: string
      mode?: "draft" | "published"
      flow_action?: "navigate" | "data_exchange"
      flow_action_payload?: {
        /** First screen. */
        screen?: string
        /** Input of the screen. */
        data?: {
          [name: string]: unknown
        }
      }
    } | {
      flow_name: string
      flow_message_version: "3"
      /** Text of the button that opens the flow. */
      flow_cta: string
      /** Identifies the opening message to the flow. */
      flow_token?: string
      mode?: "draft" | "published"
      flow_action?: "navigate" | "data_exchange"
      flow_action_payload?: {
        /** First screen. */
        screen?: string
        /** Input of the screen. */
        data?: {
          [name: string]: unknown
        }
      }
    }
  }
}

export type Gone = {
  code: "gone"
  message: string
  details?: {
    /** Endpoint to use instead. */
    replacement: string
  }
}

/** How many matches are hidden, and by which filters; only if a filtered search has no match on its first page. */
export type HiddenMatches = {
  /** Number of matches without these filters. */
  total: number
  /** False if there may be more than `total`. */
  totalIsExact: boolean
  /** Query parameters that hide them. */
  filters: Array<string>
}

export type Interactive = ReplyButtons | ListMenu | CallToAction | LocationRequest | ContactRequest | FlowMessage

export type InvalidPhoneNumber = {
  code: "invalid_phone_number"
  message: string
  details: FieldFaults
}

export type LegacyContact = {
  /** One address, compared without regard to case. In an update, null removes it. */
  email?: string | null
  /** Number with country code, with or without +; spaces, dashes, dots, slashes and parentheses are dropped. Without + and 00, read first as a national number of the company's `defaultCountry`. The length must exist in the number's country. In an update, null removes it. */
  phone?: string | null
  /** Null or an empty string removes it. */
  firstName?: string | null
  /** Null or an empty string removes it. */
  lastName?: string | null
  /** Defaults to `active` for a new contact. */
  status?: string
  /** Defaults to `API` for a new contact. */
  source?: string
  /** Defaults to `database` for a new contact. One of database, third_party; another value only if already set. */
  source_type?: string
  /** Replaces all tags. */
  tags?: Array<string>
  /** Any JSON values by key, merged into the contact's; null removes a key. A contact can have at most 200 keys and 65536 bytes. */
  customFields?: {
    [name: string]: unknown
  }
  /** For keys with only `ContactsUpsert`: hex HMAC-SHA256 of the lower-case email, or of the phone's digits, with the key's identity secret. Allows the write to change this contact's email and phone and to end opt-outs. */
  identityProof?: string
  marketingConsent?: {
    email?: boolean
    whatsapp?: boolean
  }
}

export type LegacyContactId = {
  /** The id; absent for a key with only `ContactsUpsert`, which gets `{}`. */
  contactId?: string
}

export type LegacyEmailTemplate = {
  /** Id to pass to a send. */
  uid: string
  name: string
}

export type LegacySend = {
  /** Phone number with country code, with or without +, or the provider’s user id if the customer hides the number. Spaces, dashes, dots, slashes and parentheses are dropped. A new number's length must exist in its country. */
  recipient: string
  /** A connected number in any formatting, or its `phoneNumberId`. Defaults to the preferred number. */
  sender?: string
  /** Contact source, if this send creates the contact. */
  contactSource?: string
  /** Ignored. */
  companyId?: unknown
  type: "text" | "template" | "image" | "video" | "audio" | "document" | "sticker" | "interactive" | "location" | "contacts" | "reaction"
  /** Message text. */
  text?: string
  /** Whether to preview the first link in the text; default false. */
  previewUrl?: boolean
  template?: {
    /** Template name. */
    name: string
    /** Language; `en_US`, `en-US` and `en_us` are the same. If omitted, the service chooses one. */
    languageCode?: string
    /** Placeholder values. */
    components?: Array<{
      type: "HEADER" | "BODY" | "FOOTER" | "BUTTONS"
      parameters?: Array<{
        /** Kind, mostly `text`. Parameters of other kinds are passed to the provider unchanged. */
        type: string
        text?: string
        /** Named placeholder to fill. */
        parameter_name?: string
        /** Header image: `mediaId`, or the provider's `link` or `id`. */
        image?: {
          /** Media id from `uploadMedia`. */
          mediaId?: string
          [name: string]: unknown
        }
        /** Header video: `mediaId`, or the provider's `link` or `id`. */
        video?: {
          /** Media id from `uploadMedia`. */
          mediaId?: string
          [name: string]: unknown
        }
        /** Header document: `mediaId`, or the provider's `link` or `id`. */
        document?: {
          /** Media id from `uploadMedia`. */
          mediaId?: string
          [name: string]: unknown
        }
        [name: string]: unknown
      }>
    }>
  } | {
    /** Family id from the template list. */
    id: string
    /** Language; `en_US`, `en-US` and `en_us` are the same. If omitted, the service chooses one. */
    languageCode?: string
    /** Placeholder values. */
    components?: Array<{
      type: "HEADER" | "BODY" | "FOOTER" | "BUTTONS"
      parameters?: Array<{
        /** Kind, mostly `text`. Parameters of other kinds are passed to the provider unchanged. */
        type: string
        text?: string
        /** Named placeholder to fill. */
        parameter_name?: string
        /** Header image: `mediaId`, or the provider's `link` or `id`. */
        image?: {
          /** Media id from `uploadMedia`. */
          mediaId?: string
          [name: string]: unknown
        }
        /** Header video: `mediaId`, or the provider's `link` or `id`. */
        video?: {
          /** Media id from `uploadMedia`. */
          mediaId?: string
          [name: string]: unknown
        }
        /** Header document: `mediaId`, or the provider's `link` or `id`. */
        document?: {
          /** Media id from `uploadMedia`. */
          mediaId?: string
          [name: string]: unknown
        }
        [name: string]: unknown
      }>
    }>
  }
  media?: {
    /** An https URL from which the provider downloads the file. */
    link: string
    /** Text below the file. */
    caption?: string
    /** File name shown to the customer. */
    filename?: string
    /** Sends audio as a voice note; the file must be Ogg with Opus. */
    voice?: boolean
  } | {
    /** Provider file id, uploaded to the sending number. */
    providerMediaId: string
    /** Text below the file. */
    caption?: string
    /** File name shown to the customer. */
    filename?: string
    /** Sends audio as a voice note; the file must be Ogg with Opus. */
    voice?: boolean
  } | {
    /** Media id from `uploadMedia`. */
    mediaId: string
    /** Text below the file. */
    caption?: string
    /** File name shown to the customer. */
    filename?: string
    /** Sends audio as a voice note; the file must be Ogg with Opus. */
    voice?: boolean
  }
  interactive?: Interactive
  location?: Location
  /** Contact cards to share. */
  contacts?: Array<ContactCard>
  reaction?: Reaction
  /** Sends a text, reply buttons or a call to action without a template and without an open window, if the provider has enabled this for the account (the number's `directSend`). */
  category?: "utility" | "authentication"
  /** With `category`: how many seconds the provider tries to deliver the message; at most 900 with `authentication`. */
  ttlSeconds?: number
  /** Message id from the same conversation, shown above this one. */
  quoted?: number
  /** When to send the message, at most 30 days ahead; the answer is 202. Limits, window and consent are checked at that time. From 1970 to 9999. */
  sendAt?: string
}

export type LegacyTemplateEmail = {
  /** Email template id, `tmpl_…`. */
  uid: string
  /** The one recipient's address, without a name. */
  recipient: string
  /** Variable values: strings, numbers, booleans, and lists of flat objects for loops. A missing one is empty. Forms have fields such as `customFields.<key>`. */
  customFields?: {
    [name: string]: string | number | boolean | Array<{
    [name: string]: string | number | boolean | null
  }>
  }
  /** Refuses the mail if a template variable has no value, by default false. */
  strict?: boolean
}

/** A list of up to ten rows in all; the customer chooses one. */
export type ListMenu = {
  type: "list"
  header?: {
    type: "text"
    text: string
  }
  body: {
    text: string
  }
  footer?: {
    text: string
  }
  action: {
    /** Text of the button that opens the list. */
    button: string
    sections: Array<{
      /** Required if there are several sections. */
      title?: string
      rows: Array<{
        /** Comes back as `reply.id`. */
        id: string
        title: string
        description?: string
      }>
    }>
  }
}

/** A listed delivery. */
export type ListedDelivery = {
  id: number
  registrationId: number
  /** Event name. */
  event: string
  /** Event id, sent to receivers in the `Delivery` header. */
  eventId: string
  /** The received message's id at the provider; null for other events. */
  wamid: string | null
  /** `dead`: the last attempt failed or the deadline passed. `skipped`: the registration became inactive. */
  status: "pending" | "delivered" | "dead" | "skipped"
  /** Number of attempts, since the last redelivery if there was one. */
  attempts: number
  /** Status of the latest attempt; null without an answer. */
  lastStatusCode: number | null
  createdAt: string
  /** Time of the next attempt; null if there is none. */
  nextAttemptAt: string | null
  /** Message of the delivery; null for other events, and if deleted. */
  message: {
    contact: {
      /** Contact name, else the WhatsApp profile name. */
      name: string | null
      /** The customer's phone number; null if hidden. */
      phone: string | null
    }
    /** Message type. */
    type: string
    /** Start of the text, at most 120 characters. */
    text: string | null
  } | null
}

export type ListedImport = {
  /** Import id. */
  id: number
  /** After `failed` and `cancelled`, rows already imported stay. */
  status: "queued" | "running" | "completed" | "failed" | "cancelled"
  /** Why the import failed. */
  failure: string | null
  format: "csv" | "ndjson"
  /** CSV separator; null for JSON lines. */
  delimiter: "," | ";" | "\t" | null
  /** CSV encoding; null for JSON lines. */
  encoding: "utf-8" | "utf-16le" | "utf-16be" | "windows-1252" | null
  /** Program whose column names were used; null if none was given. */
  profile: "mailchimp" | "hubspot" | "klaviyo" | "brevo" | null
  /** Country of national numbers, for phones without `+` or `00`. */
  default_country: string | null
  /** Row count. */
  rows: number
  /** Number of rows created, updated, unchanged or refused. */
  rows_read: number
  /** Number of created contacts. */
  created: number
  /** Number of rows that changed a contact. */
  updated: number
  /** Number of rows that changed nothing. */
  unchanged: number
  /** Number of refused rows. */
  refused: number
  created_at: string
  /** When the first row was read. */
  started_at: string | null
  /** When the import ended. */
  ended_at: string | null
}

/** A place on the map. */
export type Location = {
  /** In degrees. */
  latitude: number
  /** In degrees. */
  longitude: number
  /** Place name. */
  name?: string
  /** Address. */
  address?: string
}

/** Asks the customer for a location, which comes back as a message. */
export type LocationRequest = {
  type: "location_request_message"
  body: {
    text: string
  }
  action: {
    name: "send_location"
  }
}

export type Me = {
  company: {
    id: number
    name: string
  }
  /** API key or session name. */
  name: string
  permissions: Array<"WhatsApp" | "Transactional" | "ContactsUpsert">
  settings: {
    /** Whether the console shows customers that an agent has read their messages and is typing. */
    readReceipts: boolean
    /** Country (ISO code) whose national numbers the company writes: a contact's phone without `+` or `00` is read as national if valid there. Null: every phone must have a country code. */
    defaultCountry: string | null
    /** Whether console sessions with the role `agent` may erase contacts. */
    agentsMayErase: boolean
  }
  limits: {
    /** Requests shared by all of the company's API keys. */
    requestsPerMinute: number
  }
}

/** Company and permissions of the credential. */
export type MeReply = {
  data: Me
}

export type Message = {
  /** Id. Grows from message to message; use it as a cursor. */
  id: number
  /** Message id at the provider, or `erased:<id>` after the contact was erased. */
  wamid: string | null
  /** Inbound messages come from the customer, outbound ones from the business. */
  direction: "inbound" | "outbound"
  type: "text" | "image" | "video" | "audio" | "document"
  /** Text, caption, or a placeholder such as `[image]`, `[revoked]` or `[erased]`. */
  text: string | null
  media: {
    /** File URL. Needs no credential; valid for 7 days. */
    url: string | null
    /** MIME type. */
    type: string | null
    /** File name. */
    filename: string | null
    /** Whether the file is a voice note. */
    voice: boolean
  } | null
  /** Emoji of a reaction to this message. */
  reaction: string | null
  /** Inbound messages are `received`. `unknown` means the provider didn't answer the send. */
  status: "received" | "pending" | "sent" | "delivered" | "read" | "failed" | "unknown"
  error: MessageFailure | null
  /** From the latest status that reported it; null until then. */
  pricing: MessagePricing | null
  /** The sender at that time; in a group the profile name and number: `Ada (+393331234567)`. */
  senderName: string | null
  /** Time in epoch seconds. */
  timestamp: number | null
  /** The same time in ISO 8601. */
  timestampIso: string | null
  /** When the customer edited the message; `text` is the new text. */
  editedAt: string | null
  /** When the customer deleted the message; `text` is `[revoked]`, and media is no longer available. */
  revokedAt: string | null
  content: StructuredContent | null
  /** The quoted message's id at the provider. */
  quotedWamid: string | null
  /** The quoted message's id here; null while unknown. */
  quotedMessageId: number | null
  /** Message kind: `text`, `image`, `video`, `audio`, `document`, `sticker`, `location`, `contacts`, `order`, `interactive`, `button`, `template`, `reaction`, `call`, or another provider name. */
  kind: string
  reply: EnvelopeReply | null
  location: {
    [name: string]: unknown
  } | null
  contacts: Array<{
    [name: string]: unknown
  }> | null
  order: {
    [name: string]: unknown
  } | null
  referral: {
    [name: string]: unknown
  } | null
  /** Whether the customer forwarded the message from another chat. */
  forwarded: boolean
  /** Whether the message was forwarded many times. */
  frequentlyForwarded: boolean
  referredProduct: {
    [name: string]: unknown
  } | null
  call: EnvelopeCall | null
  quoted: QuotedMessage | null
}

/** The member with the same name is required, such as `text` or `location`; for an image, video, audio, document or sticker, `media`. */
export type MessageContent = {
  type: "text" | "template" | "image" | "video" | "audio" | "document" | "sticker" | "interactive" | "location" | "contacts" | "reaction"
  /** Message text. */
  text?: string
  /** Whether to preview the first link in the text; default false. */
  previewUrl?: boolean
  template?: (TemplateByName & { id?: never }) | (TemplateById & { name?: never })
  media?: (AnyMediaByLink & { providerMediaId?: never; mediaId?: never }) | (AnyMediaById & { link?: never; mediaId?: never }) | (AnyMediaByMediaId & { link?: never; providerMediaId?: never })
  interactive?: Interactive
  location?: Location
  /** Contact cards to share. */
  contacts?: Array<ContactCard>
  reaction?: Reaction
  /** Sends a text, reply buttons or a call to action without a template and without an open window, if the provider has enabled this for the account (the number's `directSend`). */
  category?: "utility" | "authentication"
  /** With `category`: how many seconds the provider tries to deliver the message; at most 900 with `authentication`. */
  ttlSeconds?: number
  /** Message id from the same conversation, shown above this one. */
  quoted?: number
  /** When to send the message, at most 30 days ahead; the answer is 202. Limits, window and consent are checked at that time. From 1970 to 9999. */
  sendAt?: string
}

export type MessageDetails = {
  message: Message
  statuses: Array<{
    /** A status reported by the provider, each once. */
    status: string
    /** Time by the provider's clock. */
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

/** What went wrong, as reported by the provider. */
export type MessageFailure = {
  /** Provider error code. */
  code: number | null
  /** Provider error title. */
  title: string | null
  /** Provider error details. */
  details: string | null
}

/** Message price, as reported by the provider. */
export type MessagePricing = {
  /** Category, such as `marketing`, `utility`, `authentication` or `service`. */
  category: string | null
  /** Type, such as `regular`, `free_customer_service` or `free_entry_point`. */
  type: string | null
  /** Whether the provider charges for the message: `regular` ones are charged, free ones are not. Without a type, the provider's value. */
  billable: boolean | null
}

/** The message as in the conversation, with its conversation. `status` is the event's status. */
export type MessageStatus = {
  /** Id. Grows from message to message; use it as a cursor. */
  id: number
  /** Message id at the provider, or `erased:<id>` after the contact was erased. */
  wamid: string | null
  /** Inbound messages come from the customer, outbound ones from the business. */
  direction: "inbound" | "outbound"
  type: "text" | "image" | "video" | "audio" | "document"
  /** Text, caption, or a placeholder such as `[image]`, `[revoked]` or `[erased]`. */
  text: string | null
  media: {
    /** File URL. Needs no credential; valid for 7 days. */
    url: string | null
    /** MIME type. */
    type: string | null
    /** File name. */
    filename: string | null
    /** Whether the file is a voice note. */
    voice: boolean
  } | null
  /** Emoji of a reaction to this message. */
  reaction: string | null
  /** Inbound messages are `received`. `unknown` means the provider didn't answer the send. */
  status: "received" | "pending" | "sent" | "delivered" | "read" | "failed" | "unknown"
  error: MessageFailure | null
  /** From the latest status that reported it; null until then. */
  pricing: MessagePricing | null
  /** The sender at that time; in a group the profile name and number: `Ada (+393331234567)`. */
  senderName: string | null
  /** Time in epoch seconds. */
  timestamp: number | null
  /** The same time in ISO 8601. */
  timestampIso: string | null
  /** When the customer edited the message; `text` is the new text. */
  editedAt: string | null
  /** When the customer deleted the message; `text` is `[revoked]`, and media is no longer available. */
  revokedAt: string | null
  content: StructuredContent | null
  /** The quoted message's id at the provider. */
  quotedWamid: string | null
  /** The quoted message's id here; null while unknown. */
  quotedMessageId: number | null
  /** Message kind: `text`, `image`, `video`, `audio`, `document`, `sticker`, `location`, `contacts`, `order`, `interactive`, `button`, `template`, `reaction`, `call`, or another provider name. */
  kind: string
  reply: EnvelopeReply | null
  location: {
    [name: string]: unknown
  } | null
  contacts: Array<{
    [name: string]: unknown
  }> | null
  order: {
    [name: string]: unknown
  } | null
  referral: {
    [name: string]: unknown
  } | null
  /** Whether the customer forwarded the message from another chat. */
  forwarded: boolean
  /** Whether the message was forwarded many times. */
  frequentlyForwarded: boolean
  referredProduct: {
    [name: string]: unknown
  } | null
  call: EnvelopeCall | null
  quoted: QuotedMessage | null
  /** Conversation id. */
  chatId: number
  contact: {
    /** Contact id. */
    id: number
    /** Number that replies go to, in digits; null for a group, and while the customer's phone number is unknown. */
    phone: string | null
    /** Contact name, else the WhatsApp profile name; for a group its id. */
    name: string | null
    /** User id at the provider, accepted as `recipient` of a send; null while unknown. */
    userId: string | null
  }
  sender: {
    /** Id of the connected number. */
    channelId: number
    /** Display phone number. */
    phoneNumber: string
    /** Display name of the business. */
    phoneName: string
  }
}

export type MessageStatusEvent = {
  /** Envelope version; unchanged by additions. */
  version: "1"
  event: "whatsapp.message.status"
  /** Event id. Use it to detect repeats. */
  id: string
  /** Company id. */
  companyId: number
  /** Event time. */
  createdAt: string
  /** What changed. */
  change: "sent" | "delivered" | "read" | "failed"
  data: MessageStatus
}

export type NewCustomField = {
  /** Key, stored in upper case: a letter, then letters, digits and _. */
  key: string
  /** Label to show. */
  displayName: string
  type: "text" | "number" | "boolean" | "date" | "datetime" | "select" | "json"
  /** Field group. */
  category?: string | null
  /** Whether the field is visible. */
  visibility?: boolean
  /** Allowed values; required for type `select`, forbidden for others. */
  allowedValues?: Array<string>
  /** Any JSON members. */
  metadata?: {
    [name: string]: unknown
  }
}

export type NewEmail = {
  /** The one recipient's address, without a name. */
  to: string
  /** Subject, one line. */
  subject: string
  /** HTML body. */
  html: string
  /** Plain-text body. */
  text?: string
  /** Sender address, by default the company's. */
  from?: string
  /** Sender name. */
  fromName?: string
  /** Reply address. */
  replyTo?: string
  /** Further headers, such as `X-…`, `List-…`, `In-Reply-To`, `References` and `Auto-Submitted`. */
  headers?: {
    [name: string]: string
  }
  /** Whether to count opens, by default true. */
  trackOpens?: boolean
  /** Whether to count clicks, by default true. */
  trackClicks?: boolean
}

export type NewQuickReply = {
  /** Title to choose after `/`. Must be unique in the company in any letter case. */
  title: string
  /** Text. The console replaces `{{name}}` with the contact's name. */
  text: string
}

export type NewRegistration = {
  /** Name. */
  name: string
  url: ReceiverUrl
  /** Events to deliver; duplicates count once. */
  events: Array<"whatsapp.message.received" | "contact.changed" | "email.status" | "whatsapp.message.status" | "whatsapp.template.status">
  /** Connected numbers (`channelId`) whose events are delivered; null for all. Events without a number, such as `contact.changed`, are always delivered. */
  channelIds?: Array<number> | null
  secret?: SigningSecret
  method?: "POST" | "GET"
  /** Sends deliveries about one conversation one after another: each waits until the previous one is delivered or dead-lettered. By default false. */
  ordered?: boolean
  headers?: StaticHeaders
}

export type NewTemplateButton = {
  /** Kind: QUICK_REPLY, URL, PHONE_NUMBER, COPY_CODE, OTP, FLOW. */
  type: string
  /** Button text. */
  text?: string
  /** URL of a URL button; each send fills in a trailing {{1}}. */
  url?: string
  /** Number of a PHONE_NUMBER button. */
  phone_number?: string
  /** Samples for placeholders or file, in the provider's format; for a header file also `mediaId`, the id of an uploaded file. */
  example?: unknown
  [name: string]: unknown
}

export type NewTemplateComponent = {
  /** Kind: HEADER, BODY, FOOTER, BUTTONS. */
  type: string
  /** Required for a HEADER: TEXT, IMAGE, VIDEO, DOCUMENT, LOCATION. */
  format?: string
  /** Text, with placeholders such as {{1}} or {{first_name}}. */
  text?: string
  /** Samples for placeholders or file, in the provider's format; for a header file also `mediaId`, the id of an uploaded file. */
  example?: unknown
  buttons?: Array<NewTemplateButton>
  [name: string]: unknown
}

export type NewTemplateEmail = {
  /** Email template id, `tmpl_…`. */
  uid: string
  /** The one recipient's address, without a name. */
  recipient: string
  /** Variable values: strings, numbers, booleans, and lists of flat objects for loops. A missing one is empty. Forms have fields such as `customFields.<key>`. */
  customFields?: {
    [name: string]: string | number | boolean | Array<{
    [name: string]: string | number | boolean | null
  }>
  }
  /** Refuses the mail if a template variable has no value, by default false. */
  strict?: boolean
}

/** The contact. */
export type OneContact = {
  data: Contact
}

/** The conversation. */
export type OneConversation = {
  data: Conversation
}

/** The quick reply. */
export type OneQuickReply = {
  data: QuickReply
}

export type Pagination = {
  /** Number of records on all pages. */
  totalRecords: number
  /** Current page. */
  currentPage: number
  /** Number of pages; 0 if there are no records. */
  totalPages: number
  /** Next page; null on the last page. */
  nextPage: number | null
  /** Previous page; null on the first page. */
  prevPage: number | null
}

export type ParameterMismatch = {
  code: "parameter_mismatch"
  message: string
  details: {
    /** Invalid component. */
    component?: string
    /** Number of parameters of the component. */
    expected?: number
    /** Number of parameters in the request. */
    given?: number
    /** Provider text, if the provider found the mismatch. */
    provider?: string
  }
}

/** A reusable text for agents. */
export type QuickReply = {
  id: number
  title: string
  text: string
  createdAt: string
  updatedAt: string
}

export type QuickReplyChange = {
  /** Title to choose after `/`. Must be unique in the company in any letter case. */
  title?: string
  /** Text. The console replaces `{{name}}` with the contact's name. */
  text?: string
}

/** The quoted message; null while unknown. */
export type QuotedMessage = {
  /** Message id. */
  id: number
  /** Message id at the provider. */
  wamid: string
  /** Inbound messages come from the customer, outbound ones from the business. */
  direction: "inbound" | "outbound"
  /** Message kind. */
  kind: string
  /** First 500 characters of the text, caption or a placeholder. */
  text: string | null
  /** The sender at that time. */
  senderName: string | null
}

export type RateLimitExceeded = {
  code: "rate_limit_exceeded"
  message: string
  /** Seconds until the next request is accepted. */
  retry_after: number
}

/** A reaction to a message. */
export type Reaction = {
  /** Id of the target message in the same conversation. */
  messageId: number
  /** One emoji; null or an empty string removes the reaction. */
  emoji: string | null
}

/** HTTPS URL of the receiver: a public host, port 80, 443 or 1024 to 65535, without user name, password or fragment. */
export type ReceiverUrl = string

export type Redelivery = {
  /** Start of the time range. From 1970 to 9999. */
  since: string
  /** End of the time range, by default now. From 1970 to 9999. */
  until?: string
  /** Excludes successful deliveries. */
  onlyDeadLettered?: boolean
  /** Only counts the deliveries, without enqueueing any. */
  dryRun?: boolean
}

/** An event receiver and its health. */
export type Registration = {
  id: number
  name: string
  url: string
  events: Array<"whatsapp.message.received" | "contact.changed" | "email.status" | "whatsapp.message.status" | "whatsapp.template.status">
  /** Connected numbers whose events are delivered; null for all. */
  channelIds: Array<number> | null
  status: "active" | "inactive"
  method: "POST" | "GET"
  /** Whether deliveries about one conversation are sent one after another. */
  ordered: boolean
  /** Static header names, each with `…`. */
  headers: {
    [name: string]: string
  }
  /** Whether deliveries are signed. */
  hasSecret: boolean
  /** Why the service paused the registration: `no_success` after five days without a 2xx and 100 dead letters; the registration is then inactive. `backlog` while the company has too many waiting deliveries; only `whatsapp.message.received` is then delivered. Null if not paused. */
  pausedReason: string | null
  /** When the service paused the registration; set it `active` to resume. */
  pausedAt: string | null
  created: string
  health: RegistrationHealth
}

export type RegistrationChange = {
  /** Name. */
  name?: string
  /** HTTPS URL of the receiver: a public host, port 80, 443 or 1024 to 65535, without user name, password or fragment. */
  url?: string
  /** Events to deliver; duplicates count once. */
  events?: Array<"whatsapp.message.received" | "contact.changed" | "email.status" | "whatsapp.message.status" | "whatsapp.template.status">
  /** Connected numbers (`channelId`) whose events are delivered; null for all. Events without a number, such as `contact.changed`, are always delivered. */
  channelIds?: Array<number> | null
  secret?: SigningSecret
  method?: "POST" | "GET"
  /** Sends deliveries about one conversation one after another: each waits until the previous one is delivered or dead-lettered. By default false. */
  ordered?: boolean
  headers?: StaticHeaders
  status?: "active" | "inactive"
  id?: number
  /** Whether deliveries are signed. */
  hasSecret?: boolean
  /** Why the service paused the registration: `no_success` after five days without a 2xx and 100 dead letters; the registration is then inactive. `backlog` while the company has too many waiting deliveries; only `whatsapp.message.received` is then delivered. Null if not paused. */
  pausedReason?: string | null
  /** When the service paused the registration; set it `active` to resume. */
  pausedAt?: string | null
  created?: string
  health?: RegistrationHealth
}

/** How the receiver has answered lately. In a change, accepted as read and ignored. */
export type RegistrationHealth = {
  /** Last attempt answered with 2xx. */
  lastSuccessAt: string | null
  /** Last failed attempt. */
  lastFailureAt: string | null
  /** Failed attempts since the last success, within seven days, counted up to 1,000. */
  consecutiveFailures: number
  /** Unfinished deliveries, counted up to 10,000. */
  waiting: number
  /** Dead letters of the last 24 hours, counted up to 10,000. */
  deadLettered24h: number
}

/** Up to three buttons; the customer chooses one. */
export type ReplyButtons = {
  type: "button"
  /** A line of text or a file above the body. */
  header?: {
    type: "text"
    text: string
  } | {
    type: "image"
    image: {
      link: string
    } | {
      /** Provider file id, uploaded to the sending number. */
      id: string
    } | {
      /** Media id from `uploadMedia`. */
      mediaId: string
    }
  } | {
    type: "video"
    video: {
      link: string
    } | {
      /** Provider file id, uploaded to the sending number. */
      id: string
    } | {
      /** Media id from `uploadMedia`. */
      mediaId: string
    }
  } | {
    type: "document"
    document: {
      link: string
      filename?: string
    } | {
      /** Provider file id, uploaded to the sending number. */
      id: string
      filename?: string
    } | {
      /** Media id from `uploadMedia`. */
      mediaId: string
      filename?: string
    }
  }
  body: {
    text: string
  }
  footer?: {
    text: string
  }
  action: {
    buttons: Array<{
      type: "reply"
      reply: {
        /** Comes back as `reply.id`. */
        id: string
        title: string
      }
    }>
  }
}

export type ScheduledMessage = {
  /** Scheduled message id. */
  id: number
  /** `sent`: became message `messageId`, whose status shows the outcome. `failed`: not sent; `error` has the reason. */
  status: "scheduled" | "sent" | "failed"
  /** Send time. */
  sendAt: string
  /** The conversation; null while sender and recipient have none. */
  chatId: number | null
  /** The sent message; null before. */
  messageId: number | null
  /** Recipient in the request; a reply goes to the customer's address at the send time. */
  recipient: string
  type: "text" | "template" | "interactive" | "location" | "contacts" | "reaction" | "image" | "video" | "audio" | "document" | "sticker"
  /** Text as the conversation would show it; null once sent. */
  text: string | null
  /** API key or session name. */
  senderName: string
  error: {
    /** Error code that a send would have returned, if any. */
    code: string | null
    message: string
  } | null
  createdAt: string
}

/** The message is scheduled. */
export type ScheduledReply = {
  success: true
  data: ScheduledMessage
}

export type SendAudio = {
  /** Phone number with country code, with or without +, or the provider’s user id if the customer hides the number. Spaces, dashes, dots, slashes and parentheses are dropped. A new number's length must exist in its country. */
  recipient: string
  /** A connected number in any formatting, or its `phoneNumberId`. Defaults to the preferred number. */
  sender?: string
  /** Contact source, if this send creates the contact. */
  contactSource?: string
  /** Ignored. */
  companyId?: unknown
  type: "audio"
  media: (AudioByLink & { providerMediaId?: never; mediaId?: never }) | (AudioById & { link?: never; mediaId?: never }) | (AudioByMediaId & { link?: never; providerMediaId?: never })
  /** Message id from the same conversation, shown above this one. */
  quoted?: number
  /** When to send the message, at most 30 days ahead; the answer is 202. Limits, window and consent are checked at that time. From 1970 to 9999. */
  sendAt?: string
}

export type SendContacts = {
  /** Phone number with country code, with or without +, or the provider’s user id if the customer hides the number. Spaces, dashes, dots, slashes and parentheses are dropped. A new number's length must exist in its country. */
  recipient: string
  /** A connected number in any formatting, or its `phoneNumberId`. Defaults to the preferred number. */
  sender?: string
  /** Contact source, if this send creates the contact. */
  contactSource?: string
  /** Ignored. */
  companyId?: unknown
  type: "contacts"
  /** Contact cards to share. */
  contacts: Array<ContactCard>
  /** Message id from the same conversation, shown above this one. */
  quoted?: number
  /** When to send the message, at most 30 days ahead; the answer is 202. Limits, window and consent are checked at that time. From 1970 to 9999. */
  sendAt?: string
}

export type SendDocument = {
  /** Phone number with country code, with or without +, or the provider’s user id if the customer hides the number. Spaces, dashes, dots, slashes and parentheses are dropped. A new number's length must exist in its country. */
  recipient: string
  /** A connected number in any formatting, or its `phoneNumberId`. Defaults to the preferred number. */
  sender?: string
  /** Contact source, if this send creates the contact. */
  contactSource?: string
  /** Ignored. */
  companyId?: unknown
  type: "document"
  media: (CaptionedMediaByLink & { providerMediaId?: never; mediaId?: never }) | (CaptionedMediaById & { link?: never; mediaId?: never }) | (CaptionedMediaByMediaId & { link?: never; providerMediaId?: never })
  /** Message id from the same conversation, shown above this one. */
  quoted?: number
  /** When to send the message, at most 30 days ahead; the answer is 202. Limits, window and consent are checked at that time. From 1970 to 9999. */
  sendAt?: string
}

export type SendImage = {
  /** Phone number with country code, with or without +, or the provider’s user id if the customer hides the number. Spaces, dashes, dots, slashes and parentheses are dropped. A new number's length must exist in its country. */
  recipient: string
  /** A connected number in any formatting, or its `phoneNumberId`. Defaults to the preferred number. */
  sender?: string
  /** Contact source, if this send creates the contact. */
  contactSource?: string
  /** Ignored. */
  companyId?: unknown
  type: "image"
  media: (CaptionedMediaByLink & { providerMediaId?: never; mediaId?: never }) | (CaptionedMediaById & { link?: never; mediaId?: never }) | (CaptionedMediaByMediaId & { link?: never; providerMediaId?: never })
  /** Message id from the same conversation, shown above this one. */
  quoted?: number
  /** When to send the message, at most 30 days ahead; the answer is 202. Limits, window and consent are checked at that time. From 1970 to 9999. */
  sendAt?: string
}

export type SendInteractive = {
  /** Phone number with country code, with or without +, or the provider’s user id if the customer hides the number. Spaces, dashes, dots, slashes and parentheses are dropped. A new number's length must exist in its country. */
  recipient: string
  /** A connected number in any formatting, or its `phoneNumberId`. Defaults to the preferred number. */
  sender?: string
  /** Contact source, if this send creates the contact. */
  contactSource?: string
  /** Ignored. */
  companyId?: unknown
  type: "interactive"
  interactive: Interactive
  /** Sends a text, reply buttons or a call to action without a template and without an open window, if the provider has enabled this for the account (the number's `directSend`). */
  category?: "utility" | "authentication"
  /** With `category`: how many seconds the provider tries to deliver the message; at most 900 with `authentication`. */
  ttlSeconds?: number
  /** Message id from the same conversation, shown above this one. */
  quoted?: number
  /** When to send the message, at most 30 days ahead; the answer is 202. Limits, window and consent are checked at that time. From 1970 to 9999. */
  sendAt?: string
}

export type SendLocation = {
  /** Phone number with country code, with or without +, or the provider’s user id if the customer hides the number. Spaces, dashes, dots, slashes and parentheses are dropped. A new number's length must exist in its country. */
  recipient: string
  /** A connected number in any formatting, or its `phoneNumberId`. Defaults to the preferred number. */
  sender?: string
  /** Contact source, if this send creates the contact. */
  contactSource?: string
  /** Ignored. */
  companyId?: unknown
  type: "location"
  location: Location
  /** Message id from the same conversation, shown above this one. */
  quoted?: number
  /** When to send the message, at most 30 days ahead; the answer is 202. Limits, window and consent are checked at that time. From 1970 to 9999. */
  sendAt?: string
}

export type SendReaction = {
  /** Phone number with country code, with or without +, or the provider’s user id if the customer hides the number. Spaces, dashes, dots, slashes and parentheses are dropped. A new number's length must exist in its country. */
  recipient: string
  /** A connected number in any formatting, or its `phoneNumberId`. Defaults to the preferred number. */
  sender?: string
  /** Contact source, if this send creates the contact. */
  contactSource?: string
  /** Ignored. */
  companyId?: unknown
  type: "reaction"
  reaction: Reaction
}

/** The provider accepted the message. */
export type SendReply = {
  success: true
  data: SentMessage
}

export type SendRequest = (SendText & { template?: never; media?: never; interactive?: never; location?: never; contacts?: never; reaction?: never }) | (SendTemplate & { text?: never; previewUrl?: never; category?: never; ttlSeconds?: never; media?: never; interactive?: never; location?: never; contacts?: never; reaction?: never }) | (SendImage & { text?: never; previewUrl?: never; category?: never; ttlSeconds?: never; template?: never; interactive?: never; location?: never; contacts?: never; reaction?: never }) | (SendVideo & { text?: never; previewUrl?: never; category?: never; ttlSeconds?: never; template?: never; interactive?: never; location?: never; contacts?: never; reaction?: never }) | (SendAudio & { text?: never; previewUrl?: never; category?: never; ttlSeconds?: never; template?: never; interactive?: never; location?: never; contacts?: never; reaction?: never }) | (SendDocument & { text?: never; previewUrl?: never; category?: never; ttlSeconds?: never; template?: never; interactive?: never; location?: never; contacts?: never; reaction?: never }) | (SendSticker & { text?: never; previewUrl?: never; category?: never; ttlSeconds?: never; template?: never; interactive?: never; location?: never; contacts?: never; reaction?: never }) | (SendInteractive & { text?: never; previewUrl?: never; template?: never; media?: never; location?: never; contacts?: never; reaction?: never }) | (SendLocation & { text?: never; previewUrl?: never; category?: never; ttlSeconds?: never; template?: never; media?: never; interactive?: never; contacts?: never; reaction?: never }) | (SendContacts & { text?: never; previewUrl?: never; category?: never; ttlSeconds?: never; template?: never; media?: never; interactive?: never; location?: never; reaction?: never }) | (SendReaction & { text?: never; previewUrl?: never; category?: never; ttlSeconds?: never; quoted?: never; sendAt?: never; template?: never; media?: never; interactive?: never; location?: never; contacts?: never })

export type SendSticker = {
  /** Phone number with country code, with or without +, or the provider’s user id if the customer hides the number. Spaces, dashes, dots, slashes and parentheses are dropped. A new number's length must exist in its country. */
  recipient: string
  /** A connected number in any formatting, or its `phoneNumberId`. Defaults to the preferred number. */
  sender?: string
  /** Contact source, if this send creates the contact. */
  contactSource?: string
  /** Ignored. */
  companyId?: unknown
  type: "sticker"
  media: (StickerByLink & { providerMediaId?: never; mediaId?: never }) | (StickerById & { link?: never; mediaId?: never }) | (StickerByMediaId & { link?: never; providerMediaId?: never })
  /** Message id from the same conversation, shown above this one. */
  quoted?: number
  /** When to send the message, at most 30 days ahead; the answer is 202. Limits, window and consent are checked at that time. From 1970 to 9999. */
  sendAt?: string
}

export type SendTemplate = {
  /** Phone number with country code, with or without +, or the provider’s user id if the customer hides the number. Spaces, dashes, dots, slashes and parentheses are dropped. A new number's length must exist in its country. */
  recipient: string
  /** A connected number in any formatting, or its `phoneNumberId`. Defaults to the preferred number. */
  sender?: string
  /** Contact source, if this send creates the contact. */
  contactSource?: string
  /** Ignored. */
  companyId?: unknown
  type: "template"
  template: (TemplateByName & { id?: never }) | (TemplateById & { name?: never })
  /** Message id from the same conversation, shown above this one. */
  quoted?: number
  /** When to send the message, at most 30 days ahead; the answer is 202. Limits, window and consent are checked at that time. From 1970 to 9999. */
  sendAt?: string
}

export type SendText = {
  /** Phone number with country code, with or without +, or the provider’s user id if the customer hides the number. Spaces, dashes, dots, slashes and parentheses are dropped. A new number's length must exist in its country. */
  recipient: string
  /** A connected number in any formatting, or its `phoneNumberId`. Defaults to the preferred number. */
  sender?: string
  /** Contact source, if this send creates the contact. */
  contactSource?: string
  /** Ignored. */
  companyId?: unknown
  type: "text"
  /** Message text. */
  text: string
  /** Whether to preview the first link in the text; default false. */
  previewUrl?: boolean
  /** Sends a text, reply buttons or a call to action without a template and without an open window, if the provider has enabled this for the account (the number's `directSend`). */
  category?: "utility" | "authentication"
  /** With `category`: how many seconds the provider tries to deliver the message; at most 900 with `authentication`. */
  ttlSeconds?: number
  /** Message id from the same conversation, shown above this one. */
  quoted?: number
  /** When to send the message, at most 30 days ahead; the answer is 202. Limits, window and consent are checked at that time. From 1970 to 9999. */
  sendAt?: string
}

export type SendVideo = {
  /** Phone number with country code, with or without +, or the provider’s user id if the customer hides the number. Spaces, dashes, dots, slashes and parentheses are dropped. A new number's length must exist in its country. */
  recipient: string
  /** A connected number in any formatting, or its `phoneNumberId`. Defaults to the preferred number. */
  sender?: string
  /** Contact source, if this send creates the contact. */
  contactSource?: string
  /** Ignored. */
  companyId?: unknown
  type: "video"
  media: (CaptionedMediaByLink & { providerMediaId?: never; mediaId?: never }) | (CaptionedMediaById & { link?: never; mediaId?: never }) | (CaptionedMediaByMediaId & { link?: never; providerMediaId?: never })
  /** Message id from the same conversation, shown above this one. */
  quoted?: number
  /** When to send the message, at most 30 days ahead; the answer is 202. Limits, window and consent are checked at that time. From 1970 to 9999. */
  sendAt?: string
}

/** A connected WhatsApp number. */
export type Sender = {
  /** Id for filtering conversations. */
  channelId: number
  /** Display phone number, accepted as `sender` of a send. */
  phoneNumber: string
  /** Display name of the business. */
  phoneName: string
  /** The number's id at the provider, also accepted as `sender` of a send. */
  phoneNumberId: string
  /** Whether sends without `sender` use this number. */
  isPreferred: boolean
}

export type SenderPagination = {
  /** Number of records on all pages. */
  totalRecords: number
  /** Current page. */
  currentPage: number
  /** Number of pages; 0 if there are no records. */
  totalPages: number
  /** Next page; null on the last page. */
  nextPage: number | null
  /** Previous page; null on the first page. */
  prevPage: number | null
  /** Cursor of the next page, to pass as `after`; null on the last page. */
  nextCursor: string | null
}

export type SentMessage = {
  success: true
  /** Conversation id. */
  chatId: number
  /** Message id. */
  messageId: number
  /** Message id at the provider; null if the provider reports it later. */
  wamid: string | null
}

export type SessionWindowClosed = {
  code: "session_window_closed"
  message: string
  details: {
    /** The customer's last message; null if there is none. */
    lastInboundAt: string | null
    /** When the window closed; null if never open. */
    closedAt: string | null
    /** The available alternative. */
    remedy: string
  }
}

export type SettingsChange = {
  settings: {
    /** Country (ISO code) whose national numbers the company writes: a contact's phone without `+` or `00` is read as national if valid there. Null: every phone must have a country code. */
    defaultCountry?: string | null
    /** Whether console sessions with the role `agent` may erase contacts. */
    agentsMayErase?: boolean
  }
}

/** A one-time sign-in link for the console. */
export type SignInLink = {
  url: string
  expiresAt: string
}

export type SignInLinkRequest = {
  /** Person's name, used as `senderName` of messages sent from the session. */
  name: string
  /** WhatsApp, Transactional or both, at most the creator's; by default all of these. */
  permissions?: Array<string>
  /** Session role, by default `agent`: conversations and contacts. `developer`: webhook registrations, their logs and templates. `admin`: everything. */
  role?: "agent" | "developer" | "admin"
  /** By default 600. */
  expiresInSeconds?: number
  /** Console page to open, such as `/console/inbox/812`; by default the first page. */
  path?: string
}

/** Key that signs the bodies; never returned. A new one replaces the old at once, null removes it. */
export type SigningSecret = string | null

/** Static headers of every delivery: a list, or an object as in answers. Values are never returned: answers show `…`. An update replaces all headers; the value `…` keeps the stored one. */
export type StaticHeaders = Array<{
  key: string
  value: string
}> | {
  [name: string]: string
}

export type StickerById = {
  /** Provider file id, uploaded to the sending number. */
  providerMediaId: string
}

export type StickerByLink = {
  /** An https URL from which the provider downloads the file. */
  link: string
}

export type StickerByMediaId = {
  /** Media id from `uploadMedia`. */
  mediaId: string
}

/** Message content in addition to text and media. */
export type StructuredContent = {
  /** Name of the other member. */
  type: "reply" | "interactive" | "location" | "contacts" | "order" | "call" | "reaction"
  reply?: EnvelopeReply
  /** The interactive message, as in a send. */
  interactive?: {
    [name: string]: unknown
  }
  /** The location: `latitude`, `longitude`, `name`, `address`, and the provider's additions. */
  location?: {
    [name: string]: unknown
  }
  /** The contact cards, as in a send. */
  contacts?: Array<{
    [name: string]: unknown
  }>
  /** The customer's order in the provider's format. */
  order?: {
    [name: string]: unknown
  }
  call?: EnvelopeCall
  /** A sent reaction; its target shows it as `reaction`. */
  reaction?: {
    /** Message id. */
    messageId: number
    /** The emoji; null if the reaction was removed. */
    emoji: string | null
  }
}

/** The request succeeded. */
export type Success = {
  success: true
}

export type Template = {
  /** Template family id, shared by all languages of a template. */
  id: string
  name: string
  language: string
  /** Only `APPROVED` templates can be sent. */
  status: "APPROVED" | "PENDING" | "REJECTED" | "DISABLED"
  /** `UTILITY`, `AUTHENTICATION` or `MARKETING`. */
  category: string
  /** Namespace at the provider. */
  namespace: string | null
  /** Business account id. */
  waba_account_id: string
  /** Partner id. */
  partner_id: string | null
  created_at: string
  modified_at: string
  /** Whether the provider has reported a template change. */
  updated_external: boolean
  /** Rejection reason, else an empty string. */
  rejected_reason: string
  /** Template id at the provider. */
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
  /** How many seconds the provider tries to deliver the template's messages, if reported. */
  message_send_ttl_seconds?: number
  /** Components in the provider's format. */
  components: Array<{
    [name: string]: unknown
  }>
}

export type TemplateById = {
  /** Family id from the template list. */
  id: string
  /** Language; `en_US`, `en-US` and `en_us` are the same. If omitted, the service chooses one. */
  languageCode?: string
  /** Placeholder values. */
  components?: Array<TemplateComponent>
}

export type TemplateByName = {
  /** Template name. */
  name: string
  /** Language; `en_US`, `en-US` and `en_us` are the same. If omitted, the service chooses one. */
  languageCode?: string
  /** Placeholder values. */
  components?: Array<TemplateComponent>
}

export type TemplateComponent = {
  type: "HEADER" | "BODY" | "FOOTER" | "BUTTONS"
  parameters?: Array<TemplateParameter>
}

export type TemplateContents = {
  /** UTILITY, MARKETING, AUTHENTICATION. */
  category: string
  /** How placeholders are named; by default as in the existing template, else `POSITIONAL`. */
  parameterFormat?: "POSITIONAL" | "NAMED"
  components: Array<NewTemplateComponent>
  /** How many seconds the provider tries to deliver the template's messages. AUTHENTICATION: 30 to 900, UTILITY: 30 to 43,200, MARKETING: 43,200 to 2,592,000. */
  ttlSeconds?: number
  /** The record's name for `ttlSeconds`. */
  message_send_ttl_seconds?: number
  /** A connected number of the business account. Defaults to the preferred number's account. */
  sender?: string
  /** Template family id, shared by all languages of a template. */
  id?: string
  name?: string
  language?: string
  /** Only `APPROVED` templates can be sent. */
  status?: "APPROVED" | "PENDING" | "REJECTED" | "DISABLED"
  /** Namespace at the provider. */
  namespace?: string | null
  /** Business account id. */
  waba_account_id?: string
  /** Partner id. */
  partner_id?: string | null
  created_at?: string
  modified_at?: string
  /** Whether the provider has reported a template change. */
  updated_external?: boolean
  /** Rejection reason, else an empty string. */
  rejected_reason?: string
  /** Template id at the provider. */
  external_id?: string | null
  created_by?: {
    [name: string]: unknown
  } | null
  modified_by?: {
    [name: string]: unknown
  } | null
  quality_score?: {
    [name: string]: unknown
  } | null
}

export type TemplateNotApproved = {
  code: "template_not_approved"
  message: string
  details: {
    /** Template name. */
    name: string
    /** Template status. */
    status: string
  }
}

export type TemplateNotFound = {
  code: "template_not_found"
  message: string
  details?: {
    /** Template languages. */
    languages: Array<string>
  }
}

export type TemplateParameter = {
  /** Kind, mostly `text`. Parameters of other kinds are passed to the provider unchanged. */
  type: string
  text?: string
  /** Named placeholder to fill. */
  parameter_name?: string
  /** Header image: `mediaId`, or the provider's `link` or `id`. */
  image?: {
    /** Media id from `uploadMedia`. */
    mediaId?: string
    [name: string]: unknown
  }
  /** Header video: `mediaId`, or the provider's `link` or `id`. */
  video?: {
    /** Media id from `uploadMedia`. */
    mediaId?: string
    [name: string]: unknown
  }
  /** Header document: `mediaId`, or the provider's `link` or `id`. */
  document?: {
    /** Media id from `uploadMedia`. */
    mediaId?: string
    [name: string]: unknown
  }
  [name: string]: unknown
}

export type TemplateStatusEvent = {
  /** Envelope version; unchanged by additions. */
  version: "1"
  event: "whatsapp.template.status"
  /** Event id. Use it to detect repeats. */
  id: string
  /** Company id. */
  companyId: number
  /** Event time. */
  createdAt: string
  /** What changed. */
  change: "APPROVED" | "PENDING" | "REJECTED" | "DISABLED"
  data: Template
}

export type TestDelivery = {
  /** Status of the receiver's answer; null if there was none. */
  statusCode: number | null
  /** Body of the receiver's answer. */
  response: string | null
  /** Why the attempt failed; null after a success. */
  errorMessage: string | null
  /** Duration of the attempt in milliseconds. */
  durationMs: number
}

export type UploadedMedia = {
  /** Id of the file in sends and replies. */
  mediaId: string
  /** Message type for the file; any file can be sent as `document`. */
  kind: "image" | "video" | "audio" | "document" | "sticker"
  /** MIME type, read from the bytes. */
  type: string
  /** Name given in the request. */
  filename: string | null
  sizeBytes: number
  /** When the file is deleted unless a message uses it. */
  expiresAt: string
}

export type UpsertedContacts = {
  data: Array<Contact>
}

export type Usage = {
  /** With `groupBy=day`: the day in UTC. */
  day?: string
  /** With `groupBy=number`: id of the connected number. */
  channelId?: number
  /** With `groupBy=category`: from the pricing; until a status has one, from the template, or `service` without a template. */
  category?: string
  /** With `groupBy=template`: the name; null for messages without a template. */
  template?: string | null
  /** Messages reported as sent, delivered or read. */
  sent: number
  /** Messages reported as delivered or read. */
  delivered: number
  /** Messages reported as read. */
  read: number
  /** Messages reported as failed after the provider had accepted them. */
  failed: number
  /** Messages with billable pricing. */
  billable: number
}

export type ValidationError = {
  code: "validation_error"
  message: string
  details: FieldFaults
}

/** The body of a delivery; `event` says which it is. */
export type WebhookEvent =
  | Envelope
  | ContactChangedEvent
  | EmailStatusEvent
  | MessageStatusEvent
  | TemplateStatusEvent
