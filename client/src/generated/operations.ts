// Generated from openapi.json by `npm run generate`. Do not edit.

import type { ApiRequest, RequestOptions, TextBody } from '../request.ts'
import type {
  AcceptedEmail,
  AcceptedTemplateEmail,
  Assignee,
  ConsentEntry,
  Contact,
  ContactActivity,
  ContactImport,
  ContactPagination,
  ContactWrite,
  ContactWrites,
  Conversation,
  ConversationChange,
  ConversationPagination,
  CustomField,
  CustomFieldChange,
  CustomFieldGroups,
  CustomFieldOrder,
  DeliveryAttempt,
  DeliveryDetails,
  DeprecationWarning,
  EmailStats,
  EmailTemplateItem,
  EmailTemplateStats,
  HiddenMatches,
  LegacyContact,
  LegacyContactId,
  LegacyEmailTemplate,
  LegacySend,
  LegacyTemplateEmail,
  ListedDelivery,
  ListedImport,
  MeReply,
  Message,
  MessageContent,
  MessageDetails,
  NewCustomField,
  NewEmail,
  NewQuickReply,
  NewRegistration,
  NewTemplateEmail,
  OneContact,
  OneConversation,
  OneQuickReply,
  Pagination,
  QuickReply,
  QuickReplyChange,
  Redelivery,
  Registration,
  RegistrationChange,
  ScheduledMessage,
  ScheduledReply,
  SendReply,
  SendRequest,
  Sender,
  SenderPagination,
  SentMessage,
  SettingsChange,
  SignInLink,
  SignInLinkRequest,
  Success,
  Template,
  TemplateContents,
  TestDelivery,
  UploadedMedia,
  UpsertedContacts,
  Usage,
} from './schemas.ts'

/** One method for each operation of the API, named after its operationId. */
export abstract class Operations {
  protected abstract call<Answer>(request: ApiRequest, options?: RequestOptions): Promise<Answer>
  protected abstract open(request: ApiRequest, options?: RequestOptions): Promise<Response>

  /** Get the current company. Returns the credential's company and permissions. Any API key works; one with only `ContactsUpsert` gets only its permissions. */
  getMe(options?: RequestOptions): Promise<MeReply> {
    return this.call({ method: 'GET', path: '/public/v1/me' }, options)
  }

  /** Update company settings. Omitted settings stay unchanged. Other processes follow within three seconds. */
  updateMe(body: SettingsChange, options?: RequestOptions): Promise<MeReply> {
    return this.call({ method: 'PATCH', path: '/public/v1/me', json: body }, options)
  }

  /** Stream live events. Stays open and sends `ready`, `reset` (reload what is shown after either), `bye` and the topics: records as in their list, `message` as `{chatId, message}`, `answering` as `{chatId, name}`, `scheduled` (scheduled messages of a conversation) as `{chatId}`, a deleted `contact` as `{id, deleted}`. */
  streamEvents(params?: {
    /** Comma-separated: `conversation`, `message`, `answering`, `delivery`, `import`, `contact`, `scheduled`. */
    topics?: string
  }, options?: RequestOptions): Promise<Response> {
    return this.open({ method: 'GET', path: '/public/v1/events', params }, options)
  }

  /** Send a WhatsApp message. Sends a text, template, file, interactive message, location, contacts or reaction, as set in `type`.  UTILITY and AUTHENTICATION templates can be sent at any time. Everything else needs an open 24-hour window: the customer must have written to this sender less than 24 hours ago. A new recipient becomes a contact.  `success` means the provider accepted the message. The conversation's messages show its later status. After 503 `service_unavailable` nothing was sent and the request can be repeated; after 503 `send_outcome_unknown` the message may have been sent, and only its status will show it. With an `Idempotency-Key` a repeated request never sends twice.  Parley keeps to the provider's throughput: a rate per second for each sender (80 by default), and to one customer 45 messages at once, then one every 6 seconds. A message waits for a slot at most 5 seconds away. Otherwise the answer is 429 with `retry_after`, and nothing is written.  With `sendAt` the answer is 202: the message is stored and sent at that time, even if processes stop or restart. Until then it can be cancelled with `cancelScheduledMessage`. */
  sendWhatsAppMessage(body: SendRequest & { sendAt: string }, options?: RequestOptions): Promise<ScheduledReply>
  sendWhatsAppMessage(body: SendRequest, options?: RequestOptions): Promise<SendReply>
  sendWhatsAppMessage(body: SendRequest, options?: RequestOptions): Promise<SendReply | ScheduledReply> {
    return this.call({ method: 'POST', path: '/public/v1/templates/whatsapp/send', json: body }, options)
  }

  /** Upload a file. The body is the file itself; the type is read from its bytes, whatever the `Content-Type` (`application/octet-stream` always works). WhatsApp accepts JPEG and PNG up to 5 MiB, WebP stickers up to 100 KiB (animated 500 KiB), MP4 and 3GP up to 16 MiB, audio up to 16 MiB, and PDF, Word, Excel, PowerPoint and plain text up to 100 MiB; other files return 422 with the reason.  `mediaId` works with every number of the company, any number of times. The first send uploads the file to the number's provider. The service keeps the bytes as long as a message uses the file, and unused files for 30 days. */
  uploadMedia(body: TextBody<"application/octet-stream">, params?: {
    /** File name shown to the customer if the file is sent as a document without another name. */
    filename?: string
  }, options?: RequestOptions): Promise<{
    data: UploadedMedia
  }> {
    return this.call({ method: 'POST', path: '/public/v1/whatsapp/media', params, text: body }, options)
  }

  /** List connected numbers. Returns the numbers in connection order. Exactly one is preferred. Empty if no number is connected. */
  listSenders(params?: {
    /** Page, counted from 1. A value that is not a positive integer counts as 1. */
    page?: number
    /** Records per page, at most 100. A value that is not a positive integer counts as 20. */
    pageSize?: number
    /** Returns the numbers after this `channelId` instead of a page. Any other value returns 422. */
    after?: string
  }, options?: RequestOptions): Promise<{
    items: Array<Sender>
    pagination: SenderPagination
  }> {
    return this.call({ method: 'GET', path: '/public/v1/templates/whatsapp/senders', params }, options)
  }

  /** List WhatsApp templates. Returns the connected accounts' templates, ordered by name, then language. Without a connected number, the answer is 404 `no_whatsapp_account`. */
  listWhatsAppTemplates(params?: {
    /** Only templates with this status. */
    status?: "APPROVED" | "PENDING" | "REJECTED" | "DISABLED"
    /** Only templates of this category. */
    category?: "UTILITY" | "AUTHENTICATION" | "MARKETING"
    /** Only templates in this language; `en_US`, `en-US` and `en_us` are the same. */
    language?: string
    /** Part of the template's name or text, ignoring case and accents. */
    search?: string
  }, options?: RequestOptions): Promise<{
    data: Array<Template>
  }> {
    return this.call({ method: 'GET', path: '/public/v1/templates/whatsapp', params }, options)
  }

  /** Create or update a template. Creates or changes the template in this language; it is `PENDING` until the provider's review (`whatsapp.template.status` reports the outcome). The provider's rules are checked first; if the provider refuses, the answer is 422 with its reason. Repeating a request, or writing a record back as read, changes nothing. If a transport can't do this, the 422 names it. */
  saveWhatsAppTemplate(params: {
    /** Name: lower-case letters, digits and underscores. */
    name: string
    /** Language, such as `en` or `pt_BR`. */
    language: string
  }, body: TemplateContents, options?: RequestOptions): Promise<{
    data: Template
  }> {
    return this.call({ method: 'PUT', path: '/public/v1/templates/whatsapp/{name}/{language}', params, json: body }, options)
  }

  /** Delete a WhatsApp template. Deletes the template in all languages, here and at the provider. The provider doesn't accept an approved template's name again for 30 days. */
  deleteWhatsAppTemplate(params: {
    /** A connected number of the business account. Defaults to the preferred number's account. */
    sender?: string
    /** Name: lower-case letters, digits and underscores. */
    name: string
  }, options?: RequestOptions): Promise<Success> {
    return this.call({ method: 'DELETE', path: '/public/v1/templates/whatsapp/{name}', params }, options)
  }

  /** List conversations. Latest activity first. With a filter, pages reach the 10,000th record, cursors the end. */
  listConversations(params?: {
    /** Page, counted from 1. A value that is not a positive integer counts as 1. */
    page?: number
    /** Records per page, at most 100. A value that is not a positive integer counts as 20. */
    pageSize?: number
    /** Returns the conversations after this cursor instead of a page. A `pagination` cursor keeps its place when conversations become active; a conversation id means its present place. Any other value returns 422. */
    before?: string
    /** Returns the conversations before this cursor, which takes the same values as `before`. */
    after?: string
    status?: "open" | "closed" | "snoozed"
    /** If true, returns only conversations with unread messages. */
    unread?: boolean
    /** Id of a connected number. */
    channelId?: number
    /** Name of the person who answers. */
    assignee?: string
    /** Part of the contact's name, email or phone, or of the WhatsApp profile name, ignoring case, accents and width. */
    search?: string
  }, options?: RequestOptions): Promise<{
    data: Array<Conversation>
    pagination: ConversationPagination
    hiddenMatches?: HiddenMatches
  }> {
    return this.call({ method: 'GET', path: '/public/v1/whatsapp/conversations', params }, options)
  }

  /** Get a conversation. Returns the record as in the list. */
  getConversation(params: {
    /** Conversation id. */
    chatId: number
  }, options?: RequestOptions): Promise<OneConversation> {
    return this.call({ method: 'GET', path: '/public/v1/whatsapp/conversations/{chatId}', params }, options)
  }

  /** Update a conversation. Closes, snoozes, re-opens or assigns the conversation, or marks it read. Omitted members stay unchanged. An inbound message re-opens a closed or snoozed conversation. */
  updateConversation(params: {
    /** Conversation id. */
    chatId: number
  }, body: ConversationChange, options?: RequestOptions): Promise<OneConversation> {
    return this.call({ method: 'PATCH', path: '/public/v1/whatsapp/conversations/{chatId}', params, json: body }, options)
  }

  /** List messages. Newest first. A page takes the same time at any depth. */
  listMessages(params: {
    /** Page, counted from 1. A value that is not a positive integer counts as 1. */
    page?: number
    /** Records per page, at most 100. A value that is not a positive integer counts as 30. */
    pageSize?: number
    /** Returns the records with smaller ids instead of a page. The record with this id may no longer exist. */
    before?: string
    /** Returns the nearest records with greater ids instead of a page. The record with this id may no longer exist. */
    after?: string
    /** Conversation id. */
    chatId: number
  }, options?: RequestOptions): Promise<{
    data: Array<Message>
    pagination: Pagination
  }> {
    return this.call({ method: 'GET', path: '/public/v1/whatsapp/conversations/{chatId}/messages', params }, options)
  }

  /** Reply in a conversation. Sends to the conversation's customer from its number, by the rules of `sendWhatsAppMessage`. Groups return 400. With `sendAt`, the message goes to the customer's address at that time. */
  sendMessage(params: {
    /** Conversation id. */
    chatId: number
  }, body: MessageContent & { sendAt: string }, options?: RequestOptions): Promise<ScheduledReply>
  sendMessage(params: {
    /** Conversation id. */
    chatId: number
  }, body: MessageContent, options?: RequestOptions): Promise<SendReply>
  sendMessage(params: {
    /** Conversation id. */
    chatId: number
  }, body: MessageContent, options?: RequestOptions): Promise<SendReply | ScheduledReply> {
    return this.call({ method: 'POST', path: '/public/v1/whatsapp/conversations/{chatId}/messages', params, json: body }, options)
  }

  /** Get a message. Includes statuses, kept for 30 days, and deliveries, kept as long as their log. */
  getMessage(params: {
    /** Conversation id. */
    chatId: number
    /** Message id. */
    id: number
  }, options?: RequestOptions): Promise<{
    data: MessageDetails
  }> {
    return this.call({ method: 'GET', path: '/public/v1/whatsapp/conversations/{chatId}/messages/{id}', params }, options)
  }

  /** Announce an answering agent. Sends `answering` with the credential's name to open streams; nothing is stored. */
  showAnswering(params: {
    /** Conversation id. */
    chatId: number
  }, options?: RequestOptions): Promise<Response> {
    return this.open({ method: 'POST', path: '/public/v1/whatsapp/conversations/{chatId}/answering', params }, options)
  }

  /** List assignees. Returns the names of everyone who has or had a console session, latest sign-in first, and of assigned conversations; at most 1000. A conversation's `assignee` accepts other names too. */
  listAssignees(options?: RequestOptions): Promise<{
    data: Array<Assignee>
  }> {
    return this.call({ method: 'GET', path: '/public/v1/whatsapp/assignees' }, options)
  }

  /** List quick replies. Returns all by title, at most 200. */
  listQuickReplies(options?: RequestOptions): Promise<{
    data: Array<QuickReply>
  }> {
    return this.call({ method: 'GET', path: '/public/v1/whatsapp/quick-replies' }, options)
  }

  /** Create a quick reply. A title already used in the company, in any letter case, returns 409. A company can have at most 200. */
  createQuickReply(body: NewQuickReply, options?: RequestOptions): Promise<OneQuickReply> {
    return this.call({ method: 'POST', path: '/public/v1/whatsapp/quick-replies', json: body }, options)
  }

  /** Update a quick reply. Omitted members stay unchanged. */
  updateQuickReply(params: {
    /** Quick reply id. */
    id: number
  }, body: QuickReplyChange, options?: RequestOptions): Promise<OneQuickReply> {
    return this.call({ method: 'PATCH', path: '/public/v1/whatsapp/quick-replies/{id}', params, json: body }, options)
  }

  /** Delete a quick reply. Messages already sent with it stay. */
  deleteQuickReply(params: {
    /** Quick reply id. */
    id: number
  }, options?: RequestOptions): Promise<Success> {
    return this.call({ method: 'DELETE', path: '/public/v1/whatsapp/quick-replies/{id}', params }, options)
  }

  /** Mark messages as read. The customer sees two blue ticks on all messages so far, and `unreadMessages` becomes 0. Nothing is sent if the customer never wrote. */
  markConversationRead(params: {
    /** Conversation id. */
    chatId: number
  }, options?: RequestOptions): Promise<Success> {
    return this.call({ method: 'POST', path: '/public/v1/whatsapp/conversations/{chatId}/read', params }, options)
  }

  /** Show a typing indicator. Shown to the customer for 25 seconds or until a message arrives. The provider also marks the customer's messages as read. Returns 422 `session_window_closed` if the customer never wrote. */
  showTyping(params: {
    /** Conversation id. */
    chatId: number
  }, options?: RequestOptions): Promise<Success> {
    return this.call({ method: 'POST', path: '/public/v1/whatsapp/conversations/{chatId}/typing', params }, options)
  }

  /** List scheduled messages. Last scheduled first. `before` is the last id of the previous page. Sent and failed messages are listed for 30 days. */
  listScheduledMessages(params?: {
    /** The conversation. */
    chatId?: number
    /** Comma-separated: `scheduled`, `sent`, `failed`. */
    status?: string
    /** Returns only records with smaller ids. Any other value returns 422. */
    before?: number
    /** Records per page, at most 100. A value that is not a positive integer counts as 30. */
    limit?: number
  }, options?: RequestOptions): Promise<{
    data: Array<ScheduledMessage>
  }> {
    return this.call({ method: 'GET', path: '/public/v1/whatsapp/scheduled-messages', params }, options)
  }

  /** Get a scheduled message. Returns the record as in the list. */
  getScheduledMessage(params: {
    /** Scheduled message id. */
    id: number
  }, options?: RequestOptions): Promise<{
    data: ScheduledMessage
  }> {
    return this.call({ method: 'GET', path: '/public/v1/whatsapp/scheduled-messages/{id}', params }, options)
  }

  /** Cancel a scheduled message. Deletes a waiting or failed message. After 200, nothing is sent; a sent message returns 409 `already_sent`. */
  cancelScheduledMessage(params: {
    /** Scheduled message id. */
    id: number
  }, options?: RequestOptions): Promise<Success> {
    return this.call({ method: 'DELETE', path: '/public/v1/whatsapp/scheduled-messages/{id}', params }, options)
  }

  /** Get message usage. Counts the company's messages by day (UTC), as reported by the provider. Each message counts once, even if a status repeats or the message is deleted. */
  getUsage(params: {
    /** First day, such as `2026-11-01`. */
    from: string
    /** Last day; the range may have at most 366 days. */
    to: string
    /** `day`, `number`, `category` or `template`. */
    groupBy?: string
  }, options?: RequestOptions): Promise<{
    data: Array<Usage>
  }> {
    return this.call({ method: 'GET', path: '/public/v1/whatsapp/usage', params }, options)
  }

  /** Create a registration. The registration is active at once. Its secret is never returned. A company can have at most 50 registrations, unless the operator sets another limit. */
  createRegistration(body: NewRegistration, options?: RequestOptions): Promise<Registration> {
    return this.call({ method: 'POST', path: '/public/v1/webhooks/registrations', json: body }, options)
  }

  /** List registrations. Returns all registrations with their health, ordered by id. */
  listRegistrations(options?: RequestOptions): Promise<Array<Registration>> {
    return this.call({ method: 'GET', path: '/public/v1/webhooks/registrations' }, options)
  }

  /** Get a registration. Returns one registration. */
  getRegistration(params: {
    /** Registration id. */
    id: number
  }, options?: RequestOptions): Promise<Registration> {
    return this.call({ method: 'GET', path: '/public/v1/webhooks/registrations/{id}', params }, options)
  }

  /** Update a registration. Omitted members stay unchanged; the record is accepted as read. Once `inactive`, no delivery attempt starts. */
  updateRegistration(params: {
    /** Registration id. */
    id: number
  }, body: RegistrationChange, options?: RequestOptions): Promise<Registration> {
    return this.call({ method: 'PUT', path: '/public/v1/webhooks/registrations/{id}', params, json: body }, options)
  }

  /** Delete a registration. Deliveries stop at once. */
  removeRegistration(params: {
    /** Registration id. */
    id: number
  }, options?: RequestOptions): Promise<Success> {
    return this.call({ method: 'DELETE', path: '/public/v1/webhooks/registrations/{id}', params }, options)
  }

  /** List deliveries. Newest first. */
  listDeliveries(params: {
    /** Returns only records with smaller ids. Any other value returns 422. */
    before?: number
    /** Records per page, at most 100. A value that is not a positive integer counts as 25. */
    limit?: number
    status?: "pending" | "delivered" | "dead" | "skipped"
    /** Start of the time range. From 1970 to 9999. */
    since?: string
    /** End of the time range. From 1970 to 9999. */
    until?: string
    /** A customer's phone number, to find deliveries about the latest 100 messages; a delivery id; or all or part of a message or event id, searched in the newest 10,000 deliveries. */
    search?: string
    /** Registration id. */
    id: number
  }, options?: RequestOptions): Promise<{
    data: Array<ListedDelivery>
    /** `before` of the next page; null on the last page. */
    nextBefore: number | null
  }> {
    return this.call({ method: 'GET', path: '/public/v1/webhooks/registrations/{id}/deliveries', params }, options)
  }

  /** Get a delivery. Returns the sent body, the headers and the receiver's answers. */
  getDelivery(params: {
    /** Whose headers `requestHeaders` shows: an attempt's `id`, or `now` for an attempt at this moment. Defaults to the latest attempt. */
    headersOf?: string
    /** Registration id. */
    id: number
    /** Delivery id. */
    deliveryId: number
  }, options?: RequestOptions): Promise<{
    data: DeliveryDetails
  }> {
    return this.call({ method: 'GET', path: '/public/v1/webhooks/registrations/{id}/deliveries/{deliveryId}', params }, options)
  }

  /** List delivery attempts. Newest first. Pass a page's last attempt id as `before` to reach all kept attempts. */
  listDeliveryAttempts(params: {
    /** Returns only records with smaller ids. Any other value returns 422. */
    before?: number
    /** Records per page, at most 100. A value that is not a positive integer counts as 100. */
    limit?: number
    /** Only attempts with this outcome; `dead` means the last attempts of dead-lettered deliveries. */
    status?: "delivered" | "failed" | "dead"
    /** Registration id. */
    id: number
  }, options?: RequestOptions): Promise<Array<DeliveryAttempt>> {
    return this.call({ method: 'GET', path: '/public/v1/webhooks/registrations/{id}/logs', params }, options)
  }

  /** Send a test delivery. Sends a sample envelope at once and returns the receiver's answer. */
  testRegistration(params: {
    /** Registration id. */
    id: number
  }, options?: RequestOptions): Promise<{
    data: TestDelivery
  }> {
    return this.call({ method: 'POST', path: '/public/v1/webhooks/registrations/{id}/test', params }, options)
  }

  /** Redeliver a delivery. Enqueues the delivery again with the same bytes and delivery id. */
  redeliver(params: {
    /** Registration id. */
    id: number
    /** Attempt id. */
    logId: number
  }, options?: RequestOptions): Promise<Success> {
    return this.call({ method: 'POST', path: '/public/v1/webhooks/registrations/{id}/logs/{logId}/redeliver', params }, options)
  }

  /** Redeliver a time range. Enqueues finished deliveries again with the same bytes and delivery ids, up to 500 a second, and returns their number. Deliveries waiting for an earlier call are not enqueued twice. */
  redeliverRange(params: {
    /** Registration id. */
    id: number
  }, body: Redelivery, options?: RequestOptions): Promise<{
    success: true
    /** Number of deliveries found. */
    count: number
  }> {
    return this.call({ method: 'POST', path: '/public/v1/webhooks/registrations/{id}/redeliver', params, json: body }, options)
  }

  /** Download a message file. Use a message's `media.url`, valid for 7 days after it was read, without a credential. Supports one Range (206) and `If-None-Match` (304). */
  getMedia(params: {
    /** Signed token from `media.url`. */
    token: string
  }, options?: RequestOptions): Promise<Response> {
    return this.open({ method: 'GET', path: '/media/{token}', params }, options)
  }

  /** Create or update contacts. Updates the contact with the same email, else the oldest one with the same phone; otherwise creates a contact. Without an identity proof, a key with only `ContactsUpsert` can't change an existing contact's email or phone or end opt-outs: these members are ignored. */
  upsertContacts(body: ContactWrites, options?: RequestOptions): Promise<UpsertedContacts> {
    return this.call({ method: 'POST', path: '/public/v1/contacts', json: body }, options)
  }

  /** List and search contacts. Returns a page of contacts, without deleted ones. */
  listContacts(params?: {
    /** Page, counted from 1. A value that is not a positive integer counts as 1. */
    page?: number
    /** Records per page, at most 100. A value that is not a positive integer counts as 25. */
    limit?: number
    /** Part of the email, phone or name, ignoring case, accents and width. */
    search?: string
    /** Only contacts with this status. */
    status?: string
    /** Only contacts with this tag. */
    tag?: string
    /** Only contacts with this consent to marketing by email. */
    emailConsent?: "yes" | "no" | "unknown"
    /** Only contacts with this consent to marketing by WhatsApp. */
    whatsappConsent?: "yes" | "no" | "unknown"
    /** Only contacts with this custom field value: key, colon and value, such as `LOYALTY_TIER:gold`. A number, `true` and `false` match as values and as text. */
    field?: string
    /** Order; a leading - means descending. By default the list is sorted by -created_at, and a search ranks contacts with a word starting with the term first, unless only part of the contacts is examined. */
    sort?: "created_at" | "-created_at" | "updated_at" | "-updated_at" | "email" | "-email"
    /** Returns the contacts sorted below this cursor, nearest first, instead of a page. Takes the same time at any depth. Any value but a cursor of the same sort returns 422. */
    before?: string
    /** Returns the contacts sorted above this cursor, nearest first, instead of a page. */
    after?: string
  }, options?: RequestOptions): Promise<{
    data: Array<Contact>
    pagination: ContactPagination
    hiddenMatches?: HiddenMatches
  }> {
    return this.call({ method: 'GET', path: '/public/v1/contacts', params }, options)
  }

  /** Get a contact. Returns one contact. */
  getContact(params: {
    /** Contact id. */
    id: number
  }, options?: RequestOptions): Promise<OneContact> {
    return this.call({ method: 'GET', path: '/public/v1/contacts/{id}', params }, options)
  }

  /** Update a contact. Omitted members stay unchanged. */
  updateContact(params: {
    /** Contact id. */
    id: number
  }, body: ContactWrite, options?: RequestOptions): Promise<OneContact> {
    return this.call({ method: 'PUT', path: '/public/v1/contacts/{id}', params, json: body }, options)
  }

  /** Delete or erase a contact. Without `erase`, hides the contact; its conversations stay. With `erase`, removes the person: the contact, message texts and media, mails, delivery log payloads and import rows. Counters and opt-outs (as a keyed hash) stay. Erasing also works on deleted contacts and can't be undone. Returns once recorded durably; work beyond 3 seconds continues in the background. */
  deleteContact(params: {
    /** Whether to erase everything about the person. */
    erase?: boolean
    /** Contact id. */
    id: number
  }, options?: RequestOptions): Promise<Success> {
    return this.call({ method: 'DELETE', path: '/public/v1/contacts/{id}', params }, options)
  }

  /** Get a contact by email. Returns the contact with this email, ignoring case. */
  getContactByEmail(params: {
    /** Email address, URL-encoded. */
    email: string
  }, options?: RequestOptions): Promise<OneContact> {
    return this.call({ method: 'GET', path: '/public/v1/contacts/by-email/{email}', params }, options)
  }

  /** Get a contact's consent history. Returns marketing statements made through the contact, or under its address, its number and its customers' current identities, newest first. */
  listConsent(params: {
    /** Contact id. */
    id: number
  }, options?: RequestOptions): Promise<{
    data: Array<ConsentEntry>
  }> {
    return this.call({ method: 'GET', path: '/public/v1/contacts/{id}/consent', params }, options)
  }

  /** List a contact's activity. Returns the contact's conversations, by last activity, and emails to the current address, newest first. Conversations require the permission `WhatsApp`, emails `Transactional`; without it they are left out. */
  listActivity(params: {
    /** Records per page, at most 100. A value that is not a positive integer counts as 25. */
    limit?: number
    /** Cursor from the previous page. */
    before?: string
    /** Contact id. */
    id: number
  }, options?: RequestOptions): Promise<{
    data: Array<ContactActivity>
    /** Cursor of the next page, to pass as `before`; null on the last page. */
    nextBefore: string | null
  }> {
    return this.call({ method: 'GET', path: '/public/v1/contacts/{id}/activity', params }, options)
  }

  /** Get a contact archive. Returns JSON lines, `{"type", "data"}`: `contact` first, then `consent` (all marketing statements), `conversation`, `message` (with statuses, reactions, changes and media), `delivery` (payload and attempts), `reaction`, `message_change` and `status` (about other people's or unstored messages), `email` (with content, links and clicks), `import_refusal`, `failed_event` (the body in base64) and `daily_limit`. Deleted contacts can be read until they are erased. */
  archiveContact(params: {
    /** Contact id. */
    id: number
  }, options?: RequestOptions): Promise<Response> {
    return this.open({ method: 'GET', path: '/public/v1/contacts/{id}/archive', params }, options)
  }

  /** Import contacts. Returns as soon as the list is stored. Rows are then applied in order, as by create-or-update; an invalid row is refused alone. */
  importContacts(body: TextBody<"text/csv" | "application/x-ndjson">, params?: {
    /** CSV separator; by default detected from a `sep=` line or the first line. */
    delimiter?: "," | ";" | "\t" | "comma" | "semicolon" | "tab"
    /** CSV encoding; by default detected from a byte order mark or the bytes. A byte order mark decides between the two UTF-16 encodings. */
    encoding?: "utf-8" | "utf-16le" | "utf-16be" | "windows-1252"
    /** Program that exported the CSV: columns are read by its names. */
    profile?: "mailchimp" | "hubspot" | "klaviyo" | "brevo"
    /** Words that opt in, besides `yes`, `true`, `1`, `opted in` and `subscribed`. Comma-separated, at most 20. */
    consentYes?: string
    /** Words that opt out, besides `no`, `false`, `0`, `opted out` and `unsubscribed`. Comma-separated, at most 20. */
    consentNo?: string
  }, options?: RequestOptions): Promise<{
    data: ContactImport
  }> {
    return this.call({ method: 'POST', path: '/public/v1/contacts/import', params, text: body }, options)
  }

  /** List imports. Newest first. `before` is the last import id of the previous page. */
  listImports(params?: {
    /** Returns only records with smaller ids. Any other value returns 422. */
    before?: number
    /** Records per page, at most 100. A value that is not a positive integer counts as 25. */
    limit?: number
  }, options?: RequestOptions): Promise<{
    data: Array<ListedImport>
  }> {
    return this.call({ method: 'GET', path: '/public/v1/contacts/imports', params }, options)
  }

  /** Cancel an import. Rows already imported stay. An import that has ended does not change. */
  cancelImport(params: {
    /** Import id. */
    id: number
  }, options?: RequestOptions): Promise<Success> {
    return this.call({ method: 'DELETE', path: '/public/v1/contacts/imports/{id}', params }, options)
  }

  /** Get an import. Returns the row counts and the first refused rows. */
  getImport(params: {
    /** Import id. */
    id: number
  }, options?: RequestOptions): Promise<{
    data: ContactImport
  }> {
    return this.call({ method: 'GET', path: '/public/v1/contacts/imports/{id}', params }, options)
  }

  /** Download refused rows. Returns the refused rows in the list's format and separator, in UTF-8, each with line and reason. Correct the file and import it again. */
  downloadRefusedRows(params: {
    /** Import id. */
    id: number
  }, options?: RequestOptions): Promise<Response> {
    return this.open({ method: 'GET', path: '/public/v1/contacts/imports/{id}/refused', params }, options)
  }

  /** Export all contacts. Returns all contacts in the import columns; importing the answer changes nothing. */
  exportContacts(params?: {
    /** Format; by default chosen by the Accept header, else `csv`. */
    format?: "csv" | "ndjson"
    /** CSV separator; a comma by default. */
    delimiter?: "," | ";" | "\t" | "comma" | "semicolon" | "tab"
    /** Whether the CSV starts with a byte order mark, so that spreadsheets recognize UTF-8. */
    bom?: boolean
    /** By default, a ' is put before anything that a spreadsheet takes for a formula, at the start of a CSV cell and after separators and line ends in it; the import removes it. `true` leaves cells unchanged. */
    raw?: boolean
  }, options?: RequestOptions): Promise<Response> {
    return this.open({ method: 'GET', path: '/public/v1/contacts/export', params }, options)
  }

  /** Create a custom field. Optional: contacts can have custom fields without a definition. A new definition is last in order. */
  createCustomField(body: NewCustomField, options?: RequestOptions): Promise<{
    data: CustomField
  }> {
    return this.call({ method: 'POST', path: '/public/v1/custom-fields', json: body }, options)
  }

  /** List custom fields. Returns all definitions in order, or with `groupBy` the definitions by category. */
  listCustomFields(params?: {
    /** Groups the definitions. */
    groupBy?: "category"
    /** Whether to include retired definitions. */
    includeRetired?: boolean
  }, options?: RequestOptions): Promise<{
    data: Array<CustomField> | CustomFieldGroups
  }> {
    return this.call({ method: 'GET', path: '/public/v1/custom-fields', params }, options)
  }

  /** Reorder custom fields. Lists and forms show the definitions in this order. Omitted ones follow in their present order. */
  orderCustomFields(body: CustomFieldOrder, options?: RequestOptions): Promise<{
    data: Array<CustomField>
  }> {
    return this.call({ method: 'PUT', path: '/public/v1/custom-fields/order', json: body }, options)
  }

  /** Update a custom field. Omitted members stay unchanged; the record is accepted as read. `key` and `type` can't change. A retired definition is hidden from lists, and contacts keep their values. */
  updateCustomField(params: {
    /** Definition id. */
    id: number
  }, body: CustomFieldChange, options?: RequestOptions): Promise<{
    data: CustomField
  }> {
    return this.call({ method: 'PATCH', path: '/public/v1/custom-fields/{id}', params, json: body }, options)
  }

  /** Get email statistics. Returns status, opens and clicks of a one-shot or template email. */
  getEmailStats(params: {
    /** Email id, `eml_…`. */
    id: string
  }, options?: RequestOptions): Promise<{
    data: EmailStats
  }> {
    return this.call({ method: 'GET', path: '/public/v1/emails/{id}/stats', params }, options)
  }

  /** Send an email. The email is accepted at once and sent in the background. After a temporary refusal by the mail server, the service retries for up to 24 hours. After a permanent refusal, the status is `failed` and the statistics contain the server's text. Links redirect through this service to count clicks, and an invisible image counts opens. */
  sendEmail(body: NewEmail, options?: RequestOptions): Promise<{
    data: AcceptedEmail
  }> {
    return this.call({ method: 'POST', path: '/public/v1/emails', json: body }, options)
  }

  /** Get email template statistics. Returns the rates over all emails sent from the template. */
  getEmailTemplateStats(params: {
    /** The email template's `transactionalId`. */
    id: number
  }, options?: RequestOptions): Promise<{
    data: EmailTemplateStats
  }> {
    return this.call({ method: 'GET', path: '/public/v1/transactionals/{id}/stats', params }, options)
  }

  /** Send a template email. The email is accepted at once and sent in the background. After a temporary refusal by the mail server, the service retries for up to 24 hours. After a permanent refusal, the status is `failed` and the statistics contain the server's text. Links redirect through this service to count clicks, and an invisible image counts opens. */
  sendTemplateEmail(body: NewTemplateEmail, options?: RequestOptions): Promise<{
    success: true
    data: AcceptedTemplateEmail
  }> {
    return this.call({ method: 'POST', path: '/public/v1/templates/email/send', json: body }, options)
  }

  /** List email templates. Returns all of the company's email templates. */
  listEmailTemplates(options?: RequestOptions): Promise<{
    data: Array<EmailTemplateItem>
  }> {
    return this.call({ method: 'GET', path: '/public/v1/templates/email' }, options)
  }

  /** Send a template email. Same as `POST /public/v1/templates/email/send`. @deprecated */
  legacySendTemplateEmail(body: LegacyTemplateEmail, options?: RequestOptions): Promise<{
    status: 200
    warning?: DeprecationWarning
  }> {
    return this.call({ method: 'POST', path: '/api/transactionals', json: body }, options)
  }

  /** List email templates. Same as `GET /public/v1/templates/email`, in the former shape. @deprecated */
  legacyListEmailTemplates(options?: RequestOptions): Promise<{
    templates: Array<LegacyEmailTemplate>
    warning?: DeprecationWarning
  }> {
    return this.call({ method: 'GET', path: '/api/transactionals' }, options)
  }

  /** Send a WhatsApp message. Same as `POST /public/v1/templates/whatsapp/send`. @deprecated */
  legacySendWhatsAppMessage(body: LegacySend, options?: RequestOptions): Promise<{
    success: true
    data: SentMessage
    warning?: DeprecationWarning
  }> {
    return this.call({ method: 'POST', path: '/api/transactionals/whatsapp/send', json: body }, options)
  }

  /** List WhatsApp templates. Same as `GET /public/v1/templates/whatsapp`. @deprecated */
  legacyListWhatsAppTemplates(options?: RequestOptions): Promise<{
    data: Array<Template>
    warning?: DeprecationWarning
  }> {
    return this.call({ method: 'GET', path: '/api/transactionals/whatsapp/templates' }, options)
  }

  /** Upsert contacts by email. Updates the contact with the same email, or creates one. A key with only `ContactsUpsert` gets no id. @deprecated */
  legacyUpsertContact(body: LegacyContact | Array<LegacyContact>, options?: RequestOptions): Promise<Array<LegacyContactId>> {
    return this.call({ method: 'POST', path: '/api/contacts', json: body }, options)
  }

  /** Create a sign-in link. The link works once. Its session ends with the API key that created it, directly or through a console session; that session must have the role `admin`. */
  createSignInLink(body: SignInLinkRequest, options?: RequestOptions): Promise<SignInLink> {
    return this.call({ method: 'POST', path: '/public/v1/console/sign-in-links', json: body }, options)
  }
}
