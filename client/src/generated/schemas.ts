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

export type AnyMediaById = {
  /** The id of a file that was uploaded to the sending number. */
  providerMediaId: string
  /** The text below the file. */
  caption?: string
  /** The name that the customer sees. */
  filename?: string
  /** Sends an audio as a voice note; the file must be Ogg with Opus. */
  voice?: boolean
}

export type AnyMediaByLink = {
  /** An https address, from which the provider downloads the file. */
  link: string
  /** The text below the file. */
  caption?: string
  /** The name that the customer sees. */
  filename?: string
  /** Sends an audio as a voice note; the file must be Ogg with Opus. */
  voice?: boolean
}

export type AnyMediaByMediaId = {
  /** The id of a file that was uploaded with `uploadMedia`. */
  mediaId: string
  /** The text below the file. */
  caption?: string
  /** The name that the customer sees. */
  filename?: string
  /** Sends an audio as a voice note; the file must be Ogg with Opus. */
  voice?: boolean
}

export type Assignee = {
  /** The name, as `assignee` of a conversation takes it. */
  name: string
  /** The last time that a session of this name began; null when conversations were only assigned to it. */
  signedInAt: string | null
}

export type AudioById = {
  /** The id of a file that was uploaded to the sending number. */
  providerMediaId: string
  /** The name that the customer sees. */
  filename?: string
  /** Sends an audio as a voice note; the file must be Ogg with Opus. */
  voice?: boolean
}

export type AudioByLink = {
  /** An https address, from which the provider downloads the file. */
  link: string
  /** The name that the customer sees. */
  filename?: string
  /** Sends an audio as a voice note; the file must be Ogg with Opus. */
  voice?: boolean
}

export type AudioByMediaId = {
  /** The id of a file that was uploaded with `uploadMedia`. */
  mediaId: string
  /** The name that the customer sees. */
  filename?: string
  /** Sends an audio as a voice note; the file must be Ogg with Opus. */
  voice?: boolean
}

export type BadRequest = {
  code: "bad_request"
  message: string
  details?: FieldFaults
}

/** A button that opens an address. */
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
      /** The id of a file that was uploaded to the sending number. */
      id: string
    } | {
      /** The id of a file that was uploaded with `uploadMedia`. */
      mediaId: string
    }
  } | {
    type: "video"
    video: {
      link: string
    } | {
      /** The id of a file that was uploaded to the sending number. */
      id: string
    } | {
      /** The id of a file that was uploaded with `uploadMedia`. */
      mediaId: string
    }
  } | {
    type: "document"
    document: {
      link: string
      filename?: string
    } | {
      /** The id of a file that was uploaded to the sending number. */
      id: string
      filename?: string
    } | {
      /** The id of a file that was uploaded with `uploadMedia`. */
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

export type CaptionedMediaByMediaId = {
  /** The id of a file that was uploaded with `uploadMedia`. */
  mediaId: string
  /** The text below the file. */
  caption?: string
  /** The name that the customer sees. */
  filename?: string
}

export type ConsentEntry = {
  /** The id of the entry. */
  id: number
  channel: "email" | "whatsapp"
  /** True for an opt-in, false for an opt-out. */
  value: boolean
  /** The time at which it was said, or said again. */
  at: string
  /** The earlier time at which the same was said; null when it was said once. */
  firstAt: string | null
  /** Where it was said: `api`, `import`, `unsubscribe`, `provider`, `erasure` or another origin. */
  source: string
  /** The IP address from which it was said, where an imported list had it. */
  ip: string | null
  /** The name of the API key or of the session of the console; null when there is none. */
  keyName: string | null
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
  /** The id in an external system. */
  external_id: string | null
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
  /** The id of the connection to that system. */
  external_connection_id: number | null
  /** Why no marketing email is sent to the address: an email bounced for good, or its owner reported one as spam. In answers to reads and in events, while the address is suppressed; absent in answers to writes. */
  email_suppression?: {
    reason: "bounce" | "complaint"
    since: string
  }
}

export type ContactActivity = {
  type: "conversation" | "email"
  /** The time of the last message of the conversation, or at which the email was accepted. */
  at: string
  /** The conversation; null for an email. */
  conversation: Conversation | null
  /** The email; null for a conversation. */
  email: EmailStats | null
}

/** A contact card, in the form of the provider. */
export type ContactCard = {
  /** The whole name and at least one of its parts. */
  name: {
    /** The whole name. */
    formatted_name: string
    first_name?: string
    middle_name?: string
    last_name?: string
    prefix?: string
    suffix?: string
  }
  phones?: Array<{
    phone?: string
    /** The number on WhatsApp: adds a button to write to it. */
    wa_id?: string
    /** The label, such as `WORK` or `HOME`. */
    type?: string
  }>
  emails?: Array<{
    email: string
    /** The label, such as `WORK` or `HOME`. */
    type?: string
  }>
  urls?: Array<{
    url: string
    /** The label, such as `WORK` or `HOME`. */
    type?: string
  }>
  addresses?: Array<{
    street?: string
    city?: string
    state?: string
    zip?: string
    country?: string
    country_code?: string
    /** The label, such as `WORK` or `HOME`. */
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
  /** The version of the envelope; additions do not change it. */
  version: "1"
  event: "contact.changed"
  /** The id of the event, by which receivers recognise repetitions. */
  id: string
  /** The id of the company. */
  companyId: number
  /** The time of the event. */
  createdAt: string
  /** The change that the event is about. */
  change: "created" | "updated" | "deleted" | "consent"
  data: Contact
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
  /** False when a search or a filter may have more matches than `total`, because it examines at most 10,000 contacts. */
  totalIsExact: boolean
  /** The cursor of the next page, to pass as `before` when the sort descends and as `after` when it ascends; null when there is none. */
  nextCursor: string | null
  /** The cursor of the previous page, to pass as the other one of the two; null when there is none. */
  previousCursor: string | null
}

/** Asks a customer who hides the phone number to share it; it comes back in `contacts`. */
export type ContactRequest = {
  type: "request_contact_info"
  body: {
    text: string
  }
  action: {
    name: "request_contact_info"
  }
}

/** A contact to write, under the names of this shape or of the record. Members that are left out keep their values; those that only the service sets must be as they were read. */
export type ContactWrite = {
  /** One address, compared without regard to case. In an update, null removes it. */
  email?: string | null
  /** The number with country code, with or without +; spaces, dashes, dots, slashes and parentheses are dropped. Without + and 00 it is first read as a national number of `defaultCountry` of the company. Its length must exist in its country. In an update, null removes it. */
  phone?: string | null
  /** Null and the empty text remove it. */
  firstName?: string | null
  /** Null and the empty text remove it. */
  lastName?: string | null
  /** A new contact has `active`. */
  status?: string
  /** A new contact has `API`. */
  source?: string
  /** A new contact has `database`. One of database, third_party; another value as far as the contact has it. */
  source_type?: string
  /** Null and the empty text remove it. */
  externalId?: string | null
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
  /** Null and the empty text remove it. */
  first_name?: string | null
  /** Null and the empty text remove it. */
  last_name?: string | null
  /** Null and the empty text remove it. */
  external_id?: string | null
  /** Any JSON values by key, merged into those of the contact; null removes a key. A contact has at most 200 keys and 65536 bytes. */
  custom_fields?: {
    [name: string]: unknown
  }
  /** As `marketingConsent`; null only where the consent is not known. In an update, a value that the contact has already is no new statement. */
  marketing_consent?: {
    email?: boolean | null
    whatsapp?: boolean | null
  }
  /** The id of the contact. */
  id?: number
  /** The id of the company. */
  company?: number
  created_at?: string
  updated_at?: string
  /** False in answers: only the event of a deletion shows a deleted contact. */
  deleted?: boolean
  /** The id of the connection to that system. */
  external_connection_id?: number | null
  /** Why no marketing email is sent to the address: an email bounced for good, or its owner reported one as spam. In answers to reads and in events, while the address is suppressed; absent in answers to writes. */
  email_suppression?: {
    reason: "bounce" | "complaint"
    since: string
  }
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
  referral: {
    [name: string]: unknown
  } | null
  /** The id of the group at the provider; null for a conversation with one customer. */
  groupId: string | null
  status: "open" | "closed" | "snoozed"
  /** The number of inbound messages since the last outbound one, or since the conversation was read. */
  unreadMessages: number
  lastMessage: {
    /** The id of the message; null when it is deleted. */
    id: number | null
    /** The text, the caption or a placeholder. */
    text: string | null
    /** Inbound messages come from the customer, outbound ones from the business. */
    direction: "inbound" | "outbound"
    /** Null when the message is deleted. */
    status: "received" | "pending" | "sent" | "delivered" | "read" | "failed" | "unknown" | null
    /** The kind of the message, such as `text` or `sticker`; null when the message is deleted. */
    kind: string | null
    /** The number of products of an order, or of contact cards; null for other kinds. */
    itemCount: number | null
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
  /** Since when the field is not offered any more; null when it is. */
  retiredAt: string | null
}

export type CustomFieldChange = {
  /** The label to show. */
  displayName?: string
  /** The group of the field; null or empty for none. */
  category?: string | null
  /** Whether the field is visible. */
  visibility?: boolean
  /** The values that may be chosen, for the type `select` only; null for the others. Stored values stay. */
  allowedValues?: Array<string> | null
  /** Whether the field is not offered any more; false offers it again. */
  retired?: boolean
  id?: number
  /** The key in upper case. */
  key?: string
  type?: "text" | "number" | "boolean" | "date" | "datetime" | "select" | "json"
  /** `Manual` for fields that were created through the API. */
  source?: string
  /** Any JSON members. */
  metadata?: {
    [name: string]: unknown
  } | null
  /** Since when the field is not offered any more; null when it is. */
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
  /** The number of fields in all groups. */
  total: number
}

export type CustomFieldOrder = {
  /** The ids of definitions, the first one first. */
  ids: Array<number>
}

export type Delivery = {
  id: number
  registrationId: number
  /** The name of the event. */
  event: string
  /** The id of the event, which receivers get in the `Delivery` header. */
  eventId: string
  /** The id of the received message at the provider; null for other events. */
  wamid: string | null
  /** `dead` means that the last attempt failed or the deadline passed, `skipped` that the registration became inactive. */
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
  /** The headers of the latest attempt, or of the one that `headersOf` names, by the present settings of the registration; `…` stands for the value of a static header. */
  requestHeaders: {
    [name: string]: string
  }
  /** The latest attempts, the newest first, at most 100. */
  attempts: Array<{
    /** The id of the attempt, by which `redeliver` repeats the delivery. */
    id: number
    attempt: number
    /** Counts from 1; each redelivery starts another round. */
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

export type DeprecationWarning = {
  /** An explanation. */
  message: string
  /** The date on which this address is removed. */
  deprecationDate: string
  /** The address to use instead. */
  migrateTo: string
  /** The address of the API reference. */
  docsUrl: string
}

export type EmailStats = {
  /** The id of the email, `eml_…`. */
  id: string
  status: "pending" | "sent" | "failed" | "bounced"
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
  /** Why the email failed or bounced, in the words of the mail server. */
  failureReason: string | null
  /** The time at which it was reported that the email did not arrive. */
  bouncedAt: string | null
  /** The time at which the recipient called the email spam. */
  complainedAt: string | null
  /** How many of the counted fetches look like those of proxies and scanners. */
  suspectedMachine: {
    opens: number
    clicks: number
  }
}

export type EmailStatusEvent = {
  /** The version of the envelope; additions do not change it. */
  version: "1"
  event: "email.status"
  /** The id of the event, by which receivers recognise repetitions. */
  id: string
  /** The id of the company. */
  companyId: number
  /** The time of the event. */
  createdAt: string
  /** The change that the event is about. */
  change: "sent" | "failed" | "bounced" | "opened" | "clicked" | "unsubscribed"
  data: EmailStats
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

export type EmailTemplateStats = {
  created: string
  /** The share of sent emails that were opened. */
  openRate: string
  /** The share of sent emails with a click. */
  clickRate: string
  /** The number of sent emails. */
  totalMessagesSent: number
  /** How many of them came back. */
  totalBounced: number
  /** How many of them their recipients called spam. */
  totalComplaints: number
}

export type Envelope = {
  /** The version of the envelope; additions do not change it. */
  version: "1"
  event: "whatsapp.message.received"
  /** The id of the company. */
  companyId: number
  channel: {
    provider: "dialog360" | "gupshup" | "meta"
    /** The digits of the number that received the message. */
    phoneNumber: string | null
    /** The id of the number. */
    channelId: number | null
  }
  contact: {
    /** Digits; null while the customer hides the phone number. */
    phone: string | null
    /** The profile name. */
    name: string | null
    /** The user id at the provider. */
    userId: string | null
  }
  message: EnvelopeMessage
  /** The JSON of the provider for this message, not part of the contract. */
  raw: {
    [name: string]: unknown
  }
}

/** The call. */
export type EnvelopeCall = {
  /** Inbound: the customer called. */
  direction: "inbound" | "outbound"
  /** `missed`: it ended without an answer. */
  status: "ringing" | "completed" | "missed" | "failed"
  /** When it was answered; of an unanswered call, when it rang. */
  startedAt: string | null
  /** When it ended. */
  endedAt: string | null
  /** The provider's events about the call, such as `terminate`. */
  events: Array<string>
}

/** The answer to a call permission request. */
export type EnvelopeCallPermission = {
  /** `accept` or `reject`. */
  response: string | null
  /** Who answered: `user_action`, or `automatic` after a call of the customer. */
  source: string | null
  /** Whether the permission has no end. */
  isPermanent: boolean | null
  /** The end of the permission. */
  expiresAt: string | null
}

export type EnvelopeMedia = {
  /** A sticker is an `image`. */
  kind: "image" | "video" | "audio" | "document"
  /** The MIME type. */
  mimeType: string | null
  /** The name of the file. */
  filename: string | null
  /** The text below the file. */
  caption: string | null
  /** Whether the file is a voice note. */
  voice: boolean
  /** The id of the file at the provider. */
  providerMediaId: string | null
}

export type EnvelopeMessage = {
  /** The id of the message at the provider. */
  wamid: string
  /** The type of the provider, except that a sticker is an `image` and a voice note an `audio`. */
  type: string
  /** The text, caption, button title or new text of an edit, else a placeholder such as `[image]`. */
  text: string | null
  media?: EnvelopeMedia
  reaction?: EnvelopeReaction
  /** Whether the business wrote the message in its phone app. */
  isEcho: boolean
  /** The time in epoch seconds. */
  timestamp: number | null
  /** The same time in ISO 8601. */
  timestampIso: string | null
  reply: EnvelopeReply | null
  /** The message that this one answers. */
  quotedWamid: string | null
  /** The message that this one edits or revokes; of an event about a call, the message of the call. */
  originalWamid: string | null
  /** The group of the message; `contact` is the writer. */
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
  /** Whether it has been forwarded many times. */
  frequentlyForwarded: boolean
  referredProduct: {
    [name: string]: unknown
  } | null
  call: EnvelopeCall | null
  error: MessageFailure | null
}

export type EnvelopeReaction = {
  /** The message that the reaction is for. */
  targetWamid: string | null
  /** The emoji; null when the reaction was removed. */
  emoji: string | null
}

/** The choice of the customer. */
export type EnvelopeReply = {
  /** The id of the button or of the row of a list. */
  id: string | null
  /** The title of the button or row. */
  title: string | null
  /** The description of the row of a list. */
  description: string | null
  /** The payload of the button of a template. */
  payload: string | null
  /** The answers of a flow, as JSON text. */
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
  /** Every field at fault, at most 100. */
  fields: Array<{
    /** The place in the request, such as `template.components[0].type`. */
    path: string
    /** The fault of the value. */
    message: string
  }>
}

/** A button that opens a flow, whose answers come back as `reply.responseJson`. */
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
      /** The id of a file that was uploaded to the sending number. */
      id: string
    } | {
      /** The id of a file that was uploaded with `uploadMedia`. */
      mediaId: string
    }
  } | {
    type: "video"
    video: {
      link: string
    } | {
      /** The id of a file that was uploaded to the sending number. */
      id: string
    } | {
      /** The id of a file that was uploaded with `uploadMedia`. */
      mediaId: string
    }
  } | {
    type: "document"
    document: {
      link: string
      filename?: string
    } | {
      /** The id of a file that was uploaded to the sending number. */
      id: string
      filename?: string
    } | {
      /** The id of a file that was uploaded with `uploadMedia`. */
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
      /** The text of the button that opens the flow. */
      flow_cta: string
      /** Identifies for the flow the message that opened it. */
      flow_token?: string
      mode?: "draft" | "published"
      flow_action?: "navigate" | "data_exchange"
      flow_action_payload?: {
        /** The first screen. */
        screen?: string
        /** The input of the screen. */
        data?: {
          [name: string]: unknown
        }
      }
    } | {
      flow_name: string
      flow_message_version: "3"
      /** The text of the button that opens the flow. */
      flow_cta: string
      /** Identifies for the flow the message that opened it. */
      flow_token?: string
      mode?: "draft" | "published"
      flow_action?: "navigate" | "data_exchange"
      flow_action_payload?: {
        /** The first screen. */
        screen?: string
        /** The input of the screen. */
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
    /** The address to use instead. */
    replacement: string
  }
}

/** How many matches filters hide, and which filters do; only when a search with filters has no match on its first page. */
export type HiddenMatches = {
  /** The number of matches without these filters. */
  total: number
  /** False when there may be more than `total`. */
  totalIsExact: boolean
  /** The query parameters that hide them. */
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
  /** The number with country code, with or without +; spaces, dashes, dots, slashes and parentheses are dropped. Without + and 00 it is first read as a national number of `defaultCountry` of the company. Its length must exist in its country. In an update, null removes it. */
  phone?: string | null
  /** Null and the empty text remove it. */
  firstName?: string | null
  /** Null and the empty text remove it. */
  lastName?: string | null
  /** A new contact has `active`. */
  status?: string
  /** A new contact has `API`. */
  source?: string
  /** A new contact has `database`. One of database, third_party; another value as far as the contact has it. */
  source_type?: string
  /** The tags, which replace all that the contact has. */
  tags?: Array<string>
  /** Any JSON values by key, merged into those of the contact; null removes a key. A contact has at most 200 keys and 65536 bytes. */
  customFields?: {
    [name: string]: unknown
  }
  /** For keys that hold `ContactsUpsert` alone: the HMAC-SHA256 in hex of the email in lower case, or of the digits of the phone, with the identity secret of the key. It lets the write change email and phone of this contact and end its opt-outs. */
  identityProof?: string
  marketingConsent?: {
    email?: boolean
    whatsapp?: boolean
  }
}

export type LegacyContactId = {
  /** The id; absent for a key that holds only `ContactsUpsert`, which gets `{}`. */
  contactId?: string
}

export type LegacyEmailTemplate = {
  /** The id that a send takes. */
  uid: string
  name: string
}

export type LegacySend = {
  /** The phone number with country code, with or without +, or the provider’s user id of a customer who hides the number. Spaces, dashes, dots, slashes and parentheses are dropped. The length of a new number must exist in its country. */
  recipient: string
  /** A connected number in any formatting, or its `phoneNumberId`. Without it the preferred number sends. */
  sender?: string
  /** The source of the contact, if this send creates one. */
  contactSource?: string
  /** The value is ignored. */
  companyId?: unknown
  type: "text" | "template" | "image" | "video" | "audio" | "document" | "sticker" | "interactive" | "location" | "contacts" | "reaction"
  /** The text of the message. */
  text?: string
  /** Whether the first address in the text is shown with a preview; default false. */
  previewUrl?: boolean
  template?: {
    /** The name of the template. */
    name: string
    /** The language; `en_US`, `en-US` and `en_us` are the same. Without it the service chooses one. */
    languageCode?: string
    /** The values of the placeholders. */
    components?: Array<{
      type: "HEADER" | "BODY" | "FOOTER" | "BUTTONS"
      parameters?: Array<{
        /** The kind, mostly `text`. Parameters of other kinds go to the provider as they are. */
        type: string
        text?: string
        /** The named placeholder that the parameter fills. */
        parameter_name?: string
        /** The image of a header: `mediaId`, or `link` or `id` as the provider has them. */
        image?: {
          /** The id of a file that was uploaded with `uploadMedia`. */
          mediaId?: string
          [name: string]: unknown
        }
        /** The video of a header: `mediaId`, or `link` or `id` as the provider has them. */
        video?: {
          /** The id of a file that was uploaded with `uploadMedia`. */
          mediaId?: string
          [name: string]: unknown
        }
        /** The document of a header: `mediaId`, or `link` or `id` as the provider has them. */
        document?: {
          /** The id of a file that was uploaded with `uploadMedia`. */
          mediaId?: string
          [name: string]: unknown
        }
        [name: string]: unknown
      }>
    }>
  } | {
    /** The id of the family, from the template list. */
    id: string
    /** The language; `en_US`, `en-US` and `en_us` are the same. Without it the service chooses one. */
    languageCode?: string
    /** The values of the placeholders. */
    components?: Array<{
      type: "HEADER" | "BODY" | "FOOTER" | "BUTTONS"
      parameters?: Array<{
        /** The kind, mostly `text`. Parameters of other kinds go to the provider as they are. */
        type: string
        text?: string
        /** The named placeholder that the parameter fills. */
        parameter_name?: string
        /** The image of a header: `mediaId`, or `link` or `id` as the provider has them. */
        image?: {
          /** The id of a file that was uploaded with `uploadMedia`. */
          mediaId?: string
          [name: string]: unknown
        }
        /** The video of a header: `mediaId`, or `link` or `id` as the provider has them. */
        video?: {
          /** The id of a file that was uploaded with `uploadMedia`. */
          mediaId?: string
          [name: string]: unknown
        }
        /** The document of a header: `mediaId`, or `link` or `id` as the provider has them. */
        document?: {
          /** The id of a file that was uploaded with `uploadMedia`. */
          mediaId?: string
          [name: string]: unknown
        }
        [name: string]: unknown
      }>
    }>
  }
  media?: {
    /** An https address, from which the provider downloads the file. */
    link: string
    /** The text below the file. */
    caption?: string
    /** The name that the customer sees. */
    filename?: string
    /** Sends an audio as a voice note; the file must be Ogg with Opus. */
    voice?: boolean
  } | {
    /** The id of a file that was uploaded to the sending number. */
    providerMediaId: string
    /** The text below the file. */
    caption?: string
    /** The name that the customer sees. */
    filename?: string
    /** Sends an audio as a voice note; the file must be Ogg with Opus. */
    voice?: boolean
  } | {
    /** The id of a file that was uploaded with `uploadMedia`. */
    mediaId: string
    /** The text below the file. */
    caption?: string
    /** The name that the customer sees. */
    filename?: string
    /** Sends an audio as a voice note; the file must be Ogg with Opus. */
    voice?: boolean
  }
  interactive?: Interactive
  location?: Location
  /** The contact cards to share. */
  contacts?: Array<ContactCard>
  reaction?: Reaction
  /** Sends a text, reply buttons or a call to action without a template and without an open window, where the provider has allowed it to the account (`directSend` of the number). */
  category?: "utility" | "authentication"
  /** With `category`: for how many seconds the provider tries to deliver the message; at most 900 with `authentication`. */
  ttlSeconds?: number
  /** The id of the message to answer, of the same conversation: it is shown above. */
  quoted?: number
  /** The time at which the message is sent, at most 30 days ahead; the answer is 202. Limits, window and consent are decided then. From 1970 to 9999. */
  sendAt?: string
}

export type LegacyTemplateEmail = {
  /** The id of the email template, `tmpl_…`. */
  uid: string
  /** The address of the one recipient, without a name. */
  recipient: string
  /** The values of the variables: texts, numbers, booleans, and lists of flat objects that the template loops over. A missing one is empty. A form has fields such as `customFields.<key>`. */
  customFields?: {
    [name: string]: string | number | boolean | Array<{
    [name: string]: string | number | boolean | null
  }>
  }
  /** Refuses the mail if a variable of the template has no value, by default false. */
  strict?: boolean
}

/** A list of up to ten rows in all, of which the customer chooses one. */
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
    /** The text of the button that opens the list. */
    button: string
    sections: Array<{
      /** Required when there are several sections. */
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

/** A delivery of a list. */
export type ListedDelivery = {
  id: number
  registrationId: number
  /** The name of the event. */
  event: string
  /** The id of the event, which receivers get in the `Delivery` header. */
  eventId: string
  /** The id of the received message at the provider; null for other events. */
  wamid: string | null
  /** `dead` means that the last attempt failed or the deadline passed, `skipped` that the registration became inactive. */
  status: "pending" | "delivered" | "dead" | "skipped"
  /** The number of attempts, since the last redelivery if there was one. */
  attempts: number
  /** The status of the latest attempt; null without an answer. */
  lastStatusCode: number | null
  createdAt: string
  /** The time of the next attempt; null when none follows. */
  nextAttemptAt: string | null
  /** The message that the delivery is about; null for other events, and when it is deleted. */
  message: {
    contact: {
      /** The name of the contact, else the WhatsApp profile name. */
      name: string | null
      /** The phone number of the customer; null when it is hidden. */
      phone: string | null
    }
    /** The type of the message. */
    type: string
    /** The beginning of the text, at most 120 characters. */
    text: string | null
  } | null
}

export type ListedImport = {
  /** The id of the import. */
  id: number
  /** After `failed` and `cancelled` the rows that were imported before stay. */
  status: "queued" | "running" | "completed" | "failed" | "cancelled"
  /** Why the import failed. */
  failure: string | null
  format: "csv" | "ndjson"
  /** The separator by which a CSV was read; null for lines of JSON. */
  delimiter: "," | ";" | "\t" | null
  /** The encoding in which a CSV was read; null for lines of JSON. */
  encoding: "utf-8" | "utf-16le" | "utf-16be" | "windows-1252" | null
  /** The program whose names of columns were read; null when none was named. */
  profile: "mailchimp" | "hubspot" | "klaviyo" | "brevo" | null
  /** The country whose national numbers phones without `+` or `00` are. */
  default_country: string | null
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

/** A place on the map. */
export type Location = {
  /** Degrees. */
  latitude: number
  /** Degrees. */
  longitude: number
  /** The name of the place. */
  name?: string
  /** Its address. */
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
  /** The name of the API key or session. */
  name: string
  permissions: Array<"WhatsApp" | "Transactional" | "ContactsUpsert">
  settings: {
    /** Whether the console shows customers that an agent has read their messages and is writing. */
    readReceipts: boolean
    /** The ISO code of the country whose national numbers the company writes: a phone of a contact without `+` or `00` is read as one if it is valid there. Null: every phone has its country code. */
    defaultCountry: string | null
    /** Whether console sessions with the role `agent` may erase contacts. */
    agentsMayErase: boolean
  }
  limits: {
    /** The requests that all API keys of the company share. */
    requestsPerMinute: number
  }
}

/** The company and permissions of the credential. */
export type MeReply = {
  data: Me
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
    /** Whether it is a voice note. */
    voice: boolean
  } | null
  /** The emoji of a reaction to this message. */
  reaction: string | null
  /** Inbound messages are `received`. `unknown` means that the provider did not answer the send. */
  status: "received" | "pending" | "sent" | "delivered" | "read" | "failed" | "unknown"
  error: MessageFailure | null
  /** Null until a status of the message has it; of several the one that was reported last. */
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
  content: StructuredContent | null
  /** The message that this one answers, by its id at the provider. */
  quotedWamid: string | null
  /** The id of that message here; null while it is not known. */
  quotedMessageId: number | null
  /** The kind of the message: `text`, `image`, `video`, `audio`, `document`, `sticker`, `location`, `contacts`, `order`, `interactive`, `button`, `template`, `reaction`, `call`, or another name of the provider. */
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
  /** Whether it has been forwarded many times. */
  frequentlyForwarded: boolean
  referredProduct: {
    [name: string]: unknown
  } | null
  call: EnvelopeCall | null
  quoted: QuotedMessage | null
}

/** The member that `type` names is required, such as `text` or `location`; for an image, a video, an audio, a document or a sticker it is `media`. */
export type MessageContent = {
  type: "text" | "template" | "image" | "video" | "audio" | "document" | "sticker" | "interactive" | "location" | "contacts" | "reaction"
  /** The text of the message. */
  text?: string
  /** Whether the first address in the text is shown with a preview; default false. */
  previewUrl?: boolean
  template?: (TemplateByName & { id?: never }) | (TemplateById & { name?: never })
  media?: (AnyMediaByLink & { providerMediaId?: never; mediaId?: never }) | (AnyMediaById & { link?: never; mediaId?: never }) | (AnyMediaByMediaId & { link?: never; providerMediaId?: never })
  interactive?: Interactive
  location?: Location
  /** The contact cards to share. */
  contacts?: Array<ContactCard>
  reaction?: Reaction
  /** Sends a text, reply buttons or a call to action without a template and without an open window, where the provider has allowed it to the account (`directSend` of the number). */
  category?: "utility" | "authentication"
  /** With `category`: for how many seconds the provider tries to deliver the message; at most 900 with `authentication`. */
  ttlSeconds?: number
  /** The id of the message to answer, of the same conversation: it is shown above. */
  quoted?: number
  /** The time at which the message is sent, at most 30 days ahead; the answer is 202. Limits, window and consent are decided then. From 1970 to 9999. */
  sendAt?: string
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

/** What went wrong, as the provider reports it. */
export type MessageFailure = {
  /** The error code of the provider. */
  code: number | null
  /** The error title of the provider. */
  title: string | null
  /** The details that the provider gave. */
  details: string | null
}

/** The price of a message, as the provider reports it. */
export type MessagePricing = {
  /** The category, such as `marketing`, `utility`, `authentication` or `service`. */
  category: string | null
  /** The type, such as `regular`, `free_customer_service` or `free_entry_point`. */
  type: string | null
  /** Whether the provider charges for the message: a `regular` one is charged, a free one is not. Without a type the value that the provider reports. */
  billable: boolean | null
}

/** The message as the conversation shows it, with its conversation. `status` is the status of the event. */
export type MessageStatus = {
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
    /** Whether it is a voice note. */
    voice: boolean
  } | null
  /** The emoji of a reaction to this message. */
  reaction: string | null
  /** Inbound messages are `received`. `unknown` means that the provider did not answer the send. */
  status: "received" | "pending" | "sent" | "delivered" | "read" | "failed" | "unknown"
  error: MessageFailure | null
  /** Null until a status of the message has it; of several the one that was reported last. */
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
  content: StructuredContent | null
  /** The message that this one answers, by its id at the provider. */
  quotedWamid: string | null
  /** The id of that message here; null while it is not known. */
  quotedMessageId: number | null
  /** The kind of the message: `text`, `image`, `video`, `audio`, `document`, `sticker`, `location`, `contacts`, `order`, `interactive`, `button`, `template`, `reaction`, `call`, or another name of the provider. */
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
  /** Whether it has been forwarded many times. */
  frequentlyForwarded: boolean
  referredProduct: {
    [name: string]: unknown
  } | null
  call: EnvelopeCall | null
  quoted: QuotedMessage | null
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
}

export type MessageStatusEvent = {
  /** The version of the envelope; additions do not change it. */
  version: "1"
  event: "whatsapp.message.status"
  /** The id of the event, by which receivers recognise repetitions. */
  id: string
  /** The id of the company. */
  companyId: number
  /** The time of the event. */
  createdAt: string
  /** The change that the event is about. */
  change: "sent" | "delivered" | "read" | "failed"
  data: MessageStatus
}

export type NewCustomField = {
  /** The key, which is stored in upper case: a letter, then letters, digits and _. */
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

export type NewQuickReply = {
  /** The name by which agents choose it after `/`; unique in the company in any letter case. */
  title: string
  /** The text. `{{name}}` stands for the name of the contact, which the console puts in its place. */
  text: string
}

export type NewRegistration = {
  /** The name. */
  name: string
  url: ReceiverUrl
  /** The events to deliver; an event named twice counts once. */
  events: Array<"whatsapp.message.received" | "contact.changed" | "email.status" | "whatsapp.message.status" | "whatsapp.template.status">
  /** The connected numbers (`channelId`) whose events are delivered; null delivers those of all. Events that are about no number, such as `contact.changed`, are delivered in any case. */
  channelIds?: Array<number> | null
  secret?: SigningSecret
  method?: "POST" | "GET"
  /** Deliveries about one conversation go one after the other: a later one waits until the earlier one is delivered or dead-lettered. By default false. */
  ordered?: boolean
  headers?: StaticHeaders
}

export type NewTemplateButton = {
  /** The kind: QUICK_REPLY, URL, PHONE_NUMBER, COPY_CODE, OTP, FLOW. */
  type: string
  /** The text of the button. */
  text?: string
  /** The address of a URL button; {{1}} at its end is filled in by each send. */
  url?: string
  /** The number of a PHONE_NUMBER button. */
  phone_number?: string
  /** Samples of the placeholders or of the file, in the form of the provider; for the file of a header also `mediaId`, the id of an uploaded file. */
  example?: unknown
  [name: string]: unknown
}

export type NewTemplateComponent = {
  /** The kind: HEADER, BODY, FOOTER, BUTTONS. */
  type: string
  /** Required for a HEADER: TEXT, IMAGE, VIDEO, DOCUMENT, LOCATION. */
  format?: string
  /** The text, with placeholders such as {{1}} or {{first_name}}. */
  text?: string
  /** Samples of the placeholders or of the file, in the form of the provider; for the file of a header also `mediaId`, the id of an uploaded file. */
  example?: unknown
  buttons?: Array<NewTemplateButton>
  [name: string]: unknown
}

export type NewTemplateEmail = {
  /** The id of the email template, `tmpl_…`. */
  uid: string
  /** The address of the one recipient, without a name. */
  recipient: string
  /** The values of the variables: texts, numbers, booleans, and lists of flat objects that the template loops over. A missing one is empty. A form has fields such as `customFields.<key>`. */
  customFields?: {
    [name: string]: string | number | boolean | Array<{
    [name: string]: string | number | boolean | null
  }>
  }
  /** Refuses the mail if a variable of the template has no value, by default false. */
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

export type ParameterMismatch = {
  code: "parameter_mismatch"
  message: string
  details: {
    /** The component at fault. */
    component?: string
    /** The number of parameters that the component takes. */
    expected?: number
    /** The number of parameters in the request. */
    given?: number
    /** The words of the provider, when it found the mismatch. */
    provider?: string
  }
}

/** A text of the company that agents choose while they answer. */
export type QuickReply = {
  id: number
  title: string
  text: string
  createdAt: string
  updatedAt: string
}

export type QuickReplyChange = {
  /** The name by which agents choose it after `/`; unique in the company in any letter case. */
  title?: string
  /** The text. `{{name}}` stands for the name of the contact, which the console puts in its place. */
  text?: string
}

/** The message that this one answers; null while it is not known. */
export type QuotedMessage = {
  /** The id of the message. */
  id: number
  /** The id of the message at the provider. */
  wamid: string
  /** Inbound messages come from the customer, outbound ones from the business. */
  direction: "inbound" | "outbound"
  /** The kind of the message. */
  kind: string
  /** The first 500 characters of the text, the caption or a placeholder. */
  text: string | null
  /** The sender at that time. */
  senderName: string | null
}

export type RateLimitExceeded = {
  code: "rate_limit_exceeded"
  message: string
  /** The number of seconds until the next request is admitted. */
  retry_after: number
}

/** A reaction to a message. */
export type Reaction = {
  /** The id of the message to react to, of the same conversation. */
  messageId: number
  /** One emoji; null or an empty text removes the reaction. */
  emoji: string | null
}

/** The HTTPS address of the receiver: a public host, port 80, 443 or 1024 to 65535, without user name, password or fragment. */
export type ReceiverUrl = string

export type Redelivery = {
  /** The start of the time range. From 1970 to 9999. */
  since: string
  /** The end of the time range, by default now. From 1970 to 9999. */
  until?: string
  /** Leaves out deliveries that succeeded. */
  onlyDeadLettered?: boolean
  /** Only counts the deliveries, and enqueues none. */
  dryRun?: boolean
}

/** A receiver of events and its health. */
export type Registration = {
  id: number
  name: string
  url: string
  events: Array<"whatsapp.message.received" | "contact.changed" | "email.status" | "whatsapp.message.status" | "whatsapp.template.status">
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
  /** Why the service paused the registration: `no_success` after five days without a 2xx and 100 dead letters; it is inactive then. `backlog` while the company has too many waiting deliveries; it gets no events but `whatsapp.message.received` then. Null when it is not paused. */
  pausedReason: string | null
  /** When the service paused the registration; setting it `active` resumes. */
  pausedAt: string | null
  created: string
  health: RegistrationHealth
}

export type RegistrationChange = {
  /** The name. */
  name?: string
  /** The HTTPS address of the receiver: a public host, port 80, 443 or 1024 to 65535, without user name, password or fragment. */
  url?: string
  /** The events to deliver; an event named twice counts once. */
  events?: Array<"whatsapp.message.received" | "contact.changed" | "email.status" | "whatsapp.message.status" | "whatsapp.template.status">
  /** The connected numbers (`channelId`) whose events are delivered; null delivers those of all. Events that are about no number, such as `contact.changed`, are delivered in any case. */
  channelIds?: Array<number> | null
  secret?: SigningSecret
  method?: "POST" | "GET"
  /** Deliveries about one conversation go one after the other: a later one waits until the earlier one is delivered or dead-lettered. By default false. */
  ordered?: boolean
  headers?: StaticHeaders
  status?: "active" | "inactive"
  id?: number
  /** Whether deliveries are signed. */
  hasSecret?: boolean
  /** Why the service paused the registration: `no_success` after five days without a 2xx and 100 dead letters; it is inactive then. `backlog` while the company has too many waiting deliveries; it gets no events but `whatsapp.message.received` then. Null when it is not paused. */
  pausedReason?: string | null
  /** When the service paused the registration; setting it `active` resumes. */
  pausedAt?: string | null
  created?: string
  health?: RegistrationHealth
}

/** How the receiver has answered lately. In a change it is taken as it was read, and changes nothing. */
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

/** Up to three buttons, of which the customer chooses one. */
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
      /** The id of a file that was uploaded to the sending number. */
      id: string
    } | {
      /** The id of a file that was uploaded with `uploadMedia`. */
      mediaId: string
    }
  } | {
    type: "video"
    video: {
      link: string
    } | {
      /** The id of a file that was uploaded to the sending number. */
      id: string
    } | {
      /** The id of a file that was uploaded with `uploadMedia`. */
      mediaId: string
    }
  } | {
    type: "document"
    document: {
      link: string
      filename?: string
    } | {
      /** The id of a file that was uploaded to the sending number. */
      id: string
      filename?: string
    } | {
      /** The id of a file that was uploaded with `uploadMedia`. */
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
  /** The id of the scheduled message. */
  id: number
  /** `sent`: it is the message `messageId`, whose status says what became of it. `failed`: it was not sent, and `error` says why. */
  status: "scheduled" | "sent" | "failed"
  /** The time at which it is sent. */
  sendAt: string
  /** The conversation; null while sender and recipient have none. */
  chatId: number | null
  /** The message that it became; null before. */
  messageId: number | null
  /** The recipient of the request; a reply goes to the address of its time. */
  recipient: string
  type: "text" | "template" | "interactive" | "location" | "contacts" | "reaction" | "image" | "video" | "audio" | "document" | "sticker"
  /** The text as the conversation would show it; null when it was sent. */
  text: string | null
  /** The name of the API key or session. */
  senderName: string
  error: {
    /** The error code that a send would have answered, if it has one. */
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
  /** The phone number with country code, with or without +, or the provider’s user id of a customer who hides the number. Spaces, dashes, dots, slashes and parentheses are dropped. The length of a new number must exist in its country. */
  recipient: string
  /** A connected number in any formatting, or its `phoneNumberId`. Without it the preferred number sends. */
  sender?: string
  /** The source of the contact, if this send creates one. */
  contactSource?: string
  /** The value is ignored. */
  companyId?: unknown
  type: "audio"
  media: (AudioByLink & { providerMediaId?: never; mediaId?: never }) | (AudioById & { link?: never; mediaId?: never }) | (AudioByMediaId & { link?: never; providerMediaId?: never })
  /** The id of the message to answer, of the same conversation: it is shown above. */
  quoted?: number
  /** The time at which the message is sent, at most 30 days ahead; the answer is 202. Limits, window and consent are decided then. From 1970 to 9999. */
  sendAt?: string
}

export type SendContacts = {
  /** The phone number with country code, with or without +, or the provider’s user id of a customer who hides the number. Spaces, dashes, dots, slashes and parentheses are dropped. The length of a new number must exist in its country. */
  recipient: string
  /** A connected number in any formatting, or its `phoneNumberId`. Without it the preferred number sends. */
  sender?: string
  /** The source of the contact, if this send creates one. */
  contactSource?: string
  /** The value is ignored. */
  companyId?: unknown
  type: "contacts"
  /** The contact cards to share. */
  contacts: Array<ContactCard>
  /** The id of the message to answer, of the same conversation: it is shown above. */
  quoted?: number
  /** The time at which the message is sent, at most 30 days ahead; the answer is 202. Limits, window and consent are decided then. From 1970 to 9999. */
  sendAt?: string
}

export type SendDocument = {
  /** The phone number with country code, with or without +, or the provider’s user id of a customer who hides the number. Spaces, dashes, dots, slashes and parentheses are dropped. The length of a new number must exist in its country. */
  recipient: string
  /** A connected number in any formatting, or its `phoneNumberId`. Without it the preferred number sends. */
  sender?: string
  /** The source of the contact, if this send creates one. */
  contactSource?: string
  /** The value is ignored. */
  companyId?: unknown
  type: "document"
  media: (CaptionedMediaByLink & { providerMediaId?: never; mediaId?: never }) | (CaptionedMediaById & { link?: never; mediaId?: never }) | (CaptionedMediaByMediaId & { link?: never; providerMediaId?: never })
  /** The id of the message to answer, of the same conversation: it is shown above. */
  quoted?: number
  /** The time at which the message is sent, at most 30 days ahead; the answer is 202. Limits, window and consent are decided then. From 1970 to 9999. */
  sendAt?: string
}

export type SendImage = {
  /** The phone number with country code, with or without +, or the provider’s user id of a customer who hides the number. Spaces, dashes, dots, slashes and parentheses are dropped. The length of a new number must exist in its country. */
  recipient: string
  /** A connected number in any formatting, or its `phoneNumberId`. Without it the preferred number sends. */
  sender?: string
  /** The source of the contact, if this send creates one. */
  contactSource?: string
  /** The value is ignored. */
  companyId?: unknown
  type: "image"
  media: (CaptionedMediaByLink & { providerMediaId?: never; mediaId?: never }) | (CaptionedMediaById & { link?: never; mediaId?: never }) | (CaptionedMediaByMediaId & { link?: never; providerMediaId?: never })
  /** The id of the message to answer, of the same conversation: it is shown above. */
  quoted?: number
  /** The time at which the message is sent, at most 30 days ahead; the answer is 202. Limits, window and consent are decided then. From 1970 to 9999. */
  sendAt?: string
}

export type SendInteractive = {
  /** The phone number with country code, with or without +, or the provider’s user id of a customer who hides the number. Spaces, dashes, dots, slashes and parentheses are dropped. The length of a new number must exist in its country. */
  recipient: string
  /** A connected number in any formatting, or its `phoneNumberId`. Without it the preferred number sends. */
  sender?: string
  /** The source of the contact, if this send creates one. */
  contactSource?: string
  /** The value is ignored. */
  companyId?: unknown
  type: "interactive"
  interactive: Interactive
  /** Sends a text, reply buttons or a call to action without a template and without an open window, where the provider has allowed it to the account (`directSend` of the number). */
  category?: "utility" | "authentication"
  /** With `category`: for how many seconds the provider tries to deliver the message; at most 900 with `authentication`. */
  ttlSeconds?: number
  /** The id of the message to answer, of the same conversation: it is shown above. */
  quoted?: number
  /** The time at which the message is sent, at most 30 days ahead; the answer is 202. Limits, window and consent are decided then. From 1970 to 9999. */
  sendAt?: string
}

export type SendLocation = {
  /** The phone number with country code, with or without +, or the provider’s user id of a customer who hides the number. Spaces, dashes, dots, slashes and parentheses are dropped. The length of a new number must exist in its country. */
  recipient: string
  /** A connected number in any formatting, or its `phoneNumberId`. Without it the preferred number sends. */
  sender?: string
  /** The source of the contact, if this send creates one. */
  contactSource?: string
  /** The value is ignored. */
  companyId?: unknown
  type: "location"
  location: Location
  /** The id of the message to answer, of the same conversation: it is shown above. */
  quoted?: number
  /** The time at which the message is sent, at most 30 days ahead; the answer is 202. Limits, window and consent are decided then. From 1970 to 9999. */
  sendAt?: string
}

export type SendReaction = {
  /** The phone number with country code, with or without +, or the provider’s user id of a customer who hides the number. Spaces, dashes, dots, slashes and parentheses are dropped. The length of a new number must exist in its country. */
  recipient: string
  /** A connected number in any formatting, or its `phoneNumberId`. Without it the preferred number sends. */
  sender?: string
  /** The source of the contact, if this send creates one. */
  contactSource?: string
  /** The value is ignored. */
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
  /** The phone number with country code, with or without +, or the provider’s user id of a customer who hides the number. Spaces, dashes, dots, slashes and parentheses are dropped. The length of a new number must exist in its country. */
  recipient: string
  /** A connected number in any formatting, or its `phoneNumberId`. Without it the preferred number sends. */
  sender?: string
  /** The source of the contact, if this send creates one. */
  contactSource?: string
  /** The value is ignored. */
  companyId?: unknown
  type: "sticker"
  media: (StickerByLink & { providerMediaId?: never; mediaId?: never }) | (StickerById & { link?: never; mediaId?: never }) | (StickerByMediaId & { link?: never; providerMediaId?: never })
  /** The id of the message to answer, of the same conversation: it is shown above. */
  quoted?: number
  /** The time at which the message is sent, at most 30 days ahead; the answer is 202. Limits, window and consent are decided then. From 1970 to 9999. */
  sendAt?: string
}

export type SendTemplate = {
  /** The phone number with country code, with or without +, or the provider’s user id of a customer who hides the number. Spaces, dashes, dots, slashes and parentheses are dropped. The length of a new number must exist in its country. */
  recipient: string
  /** A connected number in any formatting, or its `phoneNumberId`. Without it the preferred number sends. */
  sender?: string
  /** The source of the contact, if this send creates one. */
  contactSource?: string
  /** The value is ignored. */
  companyId?: unknown
  type: "template"
  template: (TemplateByName & { id?: never }) | (TemplateById & { name?: never })
  /** The id of the message to answer, of the same conversation: it is shown above. */
  quoted?: number
  /** The time at which the message is sent, at most 30 days ahead; the answer is 202. Limits, window and consent are decided then. From 1970 to 9999. */
  sendAt?: string
}

export type SendText = {
  /** The phone number with country code, with or without +, or the provider’s user id of a customer who hides the number. Spaces, dashes, dots, slashes and parentheses are dropped. The length of a new number must exist in its country. */
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
  /** Whether the first address in the text is shown with a preview; default false. */
  previewUrl?: boolean
  /** Sends a text, reply buttons or a call to action without a template and without an open window, where the provider has allowed it to the account (`directSend` of the number). */
  category?: "utility" | "authentication"
  /** With `category`: for how many seconds the provider tries to deliver the message; at most 900 with `authentication`. */
  ttlSeconds?: number
  /** The id of the message to answer, of the same conversation: it is shown above. */
  quoted?: number
  /** The time at which the message is sent, at most 30 days ahead; the answer is 202. Limits, window and consent are decided then. From 1970 to 9999. */
  sendAt?: string
}

export type SendVideo = {
  /** The phone number with country code, with or without +, or the provider’s user id of a customer who hides the number. Spaces, dashes, dots, slashes and parentheses are dropped. The length of a new number must exist in its country. */
  recipient: string
  /** A connected number in any formatting, or its `phoneNumberId`. Without it the preferred number sends. */
  sender?: string
  /** The source of the contact, if this send creates one. */
  contactSource?: string
  /** The value is ignored. */
  companyId?: unknown
  type: "video"
  media: (CaptionedMediaByLink & { providerMediaId?: never; mediaId?: never }) | (CaptionedMediaById & { link?: never; mediaId?: never }) | (CaptionedMediaByMediaId & { link?: never; providerMediaId?: never })
  /** The id of the message to answer, of the same conversation: it is shown above. */
  quoted?: number
  /** The time at which the message is sent, at most 30 days ahead; the answer is 202. Limits, window and consent are decided then. From 1970 to 9999. */
  sendAt?: string
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

export type SenderPagination = {
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
  /** The cursor of the next page, to pass as `after`; null on the last page. */
  nextCursor: string | null
}

export type SentMessage = {
  success: true
  /** The id of the conversation. */
  chatId: number
  /** The id of the message. */
  messageId: number
  /** The id of the message at the provider; null when the provider reports it later. */
  wamid: string | null
}

export type SessionWindowClosed = {
  code: "session_window_closed"
  message: string
  details: {
    /** The time of the last message of the customer; null when there is none. */
    lastInboundAt: string | null
    /** The time at which the window closed; null when it was never open. */
    closedAt: string | null
    /** The alternative that can be sent. */
    remedy: string
  }
}

export type SettingsChange = {
  settings: {
    /** The ISO code of the country whose national numbers the company writes: a phone of a contact without `+` or `00` is read as one if it is valid there. Null: every phone has its country code. */
    defaultCountry?: string | null
    /** Whether console sessions with the role `agent` may erase contacts. */
    agentsMayErase?: boolean
  }
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

/** Static headers of every delivery: a list, or an object as in answers. Their values are never returned: answers show `…`. An update replaces all headers; the value `…` keeps the stored one. */
export type StaticHeaders = Array<{
  key: string
  value: string
}> | {
  [name: string]: string
}

export type StickerById = {
  /** The id of a file that was uploaded to the sending number. */
  providerMediaId: string
}

export type StickerByLink = {
  /** An https address, from which the provider downloads the file. */
  link: string
}

export type StickerByMediaId = {
  /** The id of a file that was uploaded with `uploadMedia`. */
  mediaId: string
}

/** The content of the message in addition to text and media. */
export type StructuredContent = {
  /** The name of the other member. */
  type: "reply" | "interactive" | "location" | "contacts" | "order" | "call" | "reaction"
  reply?: EnvelopeReply
  /** The interactive message, in the form of a send. */
  interactive?: {
    [name: string]: unknown
  }
  /** The location: `latitude`, `longitude`, `name`, `address`, and what the provider adds. */
  location?: {
    [name: string]: unknown
  }
  /** The contact cards, in the form of a send. */
  contacts?: Array<{
    [name: string]: unknown
  }>
  /** The order of the customer, as the provider describes it. */
  order?: {
    [name: string]: unknown
  }
  call?: EnvelopeCall
  /** A reaction that was sent; the message that it is for has it as `reaction`. */
  reaction?: {
    /** The id of the message. */
    messageId: number
    /** The emoji; null: the reaction was removed. */
    emoji: string | null
  }
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
  /** For how many seconds the provider tries to deliver a message of the template, where it says so. */
  message_send_ttl_seconds?: number
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

export type TemplateContents = {
  /** UTILITY, MARKETING, AUTHENTICATION. */
  category: string
  /** How the placeholders are named; by default as in the template that exists, else `POSITIONAL`. */
  parameterFormat?: "POSITIONAL" | "NAMED"
  components: Array<NewTemplateComponent>
  /** For how many seconds the provider tries to deliver a message of the template. AUTHENTICATION: 30 to 900, UTILITY: 30 to 43,200, MARKETING: 43,200 to 2,592,000. */
  ttlSeconds?: number
  /** `ttlSeconds` under its name in the record. */
  message_send_ttl_seconds?: number
  /** A connected number of the business account. Without it that of the preferred number. */
  sender?: string
  /** The id of the template family, which all languages of a template share. */
  id?: string
  name?: string
  language?: string
  /** Only an `APPROVED` template can be sent. */
  status?: "APPROVED" | "PENDING" | "REJECTED" | "DISABLED"
  /** The namespace at the provider. */
  namespace?: string | null
  /** The id of the business account. */
  waba_account_id?: string
  /** The id of the partner. */
  partner_id?: string | null
  created_at?: string
  modified_at?: string
  /** Whether the provider has reported a change of the template. */
  updated_external?: boolean
  /** The reason of a rejection, else the empty text. */
  rejected_reason?: string
  /** The id of the template at the provider. */
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
    /** The name of the template. */
    name: string
    /** The status of the template. */
    status: string
  }
}

export type TemplateNotFound = {
  code: "template_not_found"
  message: string
  details?: {
    /** The languages that the template has. */
    languages: Array<string>
  }
}

export type TemplateParameter = {
  /** The kind, mostly `text`. Parameters of other kinds go to the provider as they are. */
  type: string
  text?: string
  /** The named placeholder that the parameter fills. */
  parameter_name?: string
  /** The image of a header: `mediaId`, or `link` or `id` as the provider has them. */
  image?: {
    /** The id of a file that was uploaded with `uploadMedia`. */
    mediaId?: string
    [name: string]: unknown
  }
  /** The video of a header: `mediaId`, or `link` or `id` as the provider has them. */
  video?: {
    /** The id of a file that was uploaded with `uploadMedia`. */
    mediaId?: string
    [name: string]: unknown
  }
  /** The document of a header: `mediaId`, or `link` or `id` as the provider has them. */
  document?: {
    /** The id of a file that was uploaded with `uploadMedia`. */
    mediaId?: string
    [name: string]: unknown
  }
  [name: string]: unknown
}

export type TemplateStatusEvent = {
  /** The version of the envelope; additions do not change it. */
  version: "1"
  event: "whatsapp.template.status"
  /** The id of the event, by which receivers recognise repetitions. */
  id: string
  /** The id of the company. */
  companyId: number
  /** The time of the event. */
  createdAt: string
  /** The change that the event is about. */
  change: "APPROVED" | "PENDING" | "REJECTED" | "DISABLED"
  data: Template
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

export type UploadedMedia = {
  /** Names the file in sends and replies. */
  mediaId: string
  /** The type of message that can carry it; `document` can carry every file. */
  kind: "image" | "video" | "audio" | "document" | "sticker"
  /** The MIME type, read from the bytes. */
  type: string
  /** The name that the request gave. */
  filename: string | null
  sizeBytes: number
  /** When the file is deleted if no message carries it until then. */
  expiresAt: string
}

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
  /** Messages whose pricing is billable. */
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
