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

  /** Get the company and permissions of the credential. Takes any API key. One that holds only `ContactsUpsert` gets its permissions and nothing else. */
  getMe(options?: RequestOptions): Promise<MeReply> {
    return this.call({ method: 'GET', path: '/public/v1/me' }, options)
  }

  /** Change the settings of the company. Changes only the settings that are sent. Other processes follow within three seconds. */
  updateMe(body: SettingsChange, options?: RequestOptions): Promise<MeReply> {
    return this.call({ method: 'PATCH', path: '/public/v1/me', json: body }, options)
  }

  /** Stream changes as they happen. Stays open and sends `ready`, `reset` (after both read again what is shown), `bye` and the topics: a record as its list returns it, `message` as `{chatId, message}`, `answering` as `{chatId, name}`, `scheduled` (scheduled messages of a conversation) as `{chatId}`, a deleted `contact` as `{id, deleted}`. */
  streamEvents(params?: {
    /** Some of `conversation`, `message`, `answering`, `delivery`, `import`, `contact`, `scheduled`, with commas. */
    topics?: string
  }, options?: RequestOptions): Promise<Response> {
    return this.open({ method: 'GET', path: '/public/v1/events', params }, options)
  }

  /** Send a WhatsApp message. Sends a text, a template, a file, an interactive message, a location, contacts or a reaction, chosen by `type`.  UTILITY and AUTHENTICATION templates may be sent at any time. Everything else needs an open 24-hour window: the customer wrote to this sender less than 24 hours ago. A recipient that is no contact yet becomes one.  `success` means that the provider accepted the message. Its later status is in the conversation's messages. After 503 `service_unavailable` nothing was sent and the request may be repeated; after 503 `send_outcome_unknown` it may have been sent, and only its status will show it. With an `Idempotency-Key` a repeated request never sends twice.  Parley keeps to the throughput that the provider allows: a number of messages per second for each sender (80 by default), and to one customer 45 at once, then one every 6 seconds. A message whose slot is at most 5 seconds away waits for it. Otherwise the answer is 429 with `retry_after`, and nothing is written.  With `sendAt` the answer is 202: the message is kept and sent at that time, also when processes stop or restart. Until then it can be cancelled with `cancelScheduledMessage`. */
  sendWhatsAppMessage(body: SendRequest & { sendAt: string }, options?: RequestOptions): Promise<ScheduledReply>
  sendWhatsAppMessage(body: SendRequest, options?: RequestOptions): Promise<SendReply>
  sendWhatsAppMessage(body: SendRequest, options?: RequestOptions): Promise<SendReply | ScheduledReply> {
    return this.call({ method: 'POST', path: '/public/v1/templates/whatsapp/send', json: body }, options)
  }

  /** Upload a file to send. The body is the file itself; the type is read from its bytes, whatever `Content-Type` says (`application/octet-stream` is always right). WhatsApp takes JPEG and PNG up to 5 MiB, WebP stickers up to 100 KiB (animated 500 KiB), MP4 and 3GP up to 16 MiB, audio up to 16 MiB, and PDF, Word, Excel, PowerPoint and plain text up to 100 MiB; another file is answered 422 with the reason.  `mediaId` works with every number of the company, as often as needed. The service gives the file to the provider of the number when it is first sent, and keeps the bytes: as long as a message carries the file, and 30 days before one does. */
  uploadMedia(body: TextBody<"application/octet-stream">, params?: {
    /** The name that the customer sees when the file is sent as a document without another one. */
    filename?: string
  }, options?: RequestOptions): Promise<{
    data: UploadedMedia
  }> {
    return this.call({ method: 'POST', path: '/public/v1/whatsapp/media', params, text: body }, options)
  }

  /** List the connected numbers. Returns the numbers in the order in which they were connected. Exactly one of them is preferred. The list is empty while no number is connected. */
  listSenders(params?: {
    /** The page, counted from 1. A value that is not a positive integer counts as 1. */
    page?: number
    /** The number of records on a page, at most 100. A value that is not a positive integer counts as 20. */
    pageSize?: number
    /** Returns the numbers that follow this `channelId`, instead of a page. A value that is no id is answered 422. */
    after?: string
  }, options?: RequestOptions): Promise<{
    items: Array<Sender>
    pagination: SenderPagination
  }> {
    return this.call({ method: 'GET', path: '/public/v1/templates/whatsapp/senders', params }, options)
  }

  /** List the WhatsApp templates. Returns the templates of the connected accounts, ordered by name, then language. While no number is connected, the answer is 404 `no_whatsapp_account`. */
  listWhatsAppTemplates(params?: {
    /** Only templates with this status. */
    status?: "APPROVED" | "PENDING" | "REJECTED" | "DISABLED"
    /** Only templates of this category. */
    category?: "UTILITY" | "AUTHENTICATION" | "MARKETING"
    /** Only templates in this language; `en_US`, `en-US` and `en_us` are the same. */
    language?: string
    /** Part of the name or of a text of the template, compared without regard to case and accents. */
    search?: string
  }, options?: RequestOptions): Promise<{
    data: Array<Template>
  }> {
    return this.call({ method: 'GET', path: '/public/v1/templates/whatsapp', params }, options)
  }

  /** Create or change a WhatsApp template. Creates the template in this language, or changes the one that exists; it is `PENDING` until the provider has reviewed it (`whatsapp.template.status` reports the outcome). The rules of the provider are checked before, and a refusal of the provider is answered 422 with its reason. A repeated request changes nothing, and neither does a record that is written back as it was read. A transport that cannot do this is named in the 422. */
  saveWhatsAppTemplate(params: {
    /** The name: lower-case letters, digits and underscores. */
    name: string
    /** The language, such as `en` or `pt_BR`. */
    language: string
  }, body: TemplateContents, options?: RequestOptions): Promise<{
    data: Template
  }> {
    return this.call({ method: 'PUT', path: '/public/v1/templates/whatsapp/{name}/{language}', params, json: body }, options)
  }

  /** Delete a WhatsApp template. Deletes the template in all languages, here and at the provider. The provider does not accept the name of an approved template again for 30 days. */
  deleteWhatsAppTemplate(params: {
    /** A connected number of the business account. Without it that of the preferred number. */
    sender?: string
    /** The name: lower-case letters, digits and underscores. */
    name: string
  }, options?: RequestOptions): Promise<Success> {
    return this.call({ method: 'DELETE', path: '/public/v1/templates/whatsapp/{name}', params }, options)
  }

  /** List conversations. The conversation with the latest activity comes first. With a filter, pages go as far as the 10,000th record, and cursors to the end. */
  listConversations(params?: {
    /** The page, counted from 1. A value that is not a positive integer counts as 1. */
    page?: number
    /** The number of records on a page, at most 100. A value that is not a positive integer counts as 20. */
    pageSize?: number
    /** Returns the conversations that follow this cursor in the list, instead of a page. A cursor of `pagination` keeps its place when conversations become active; the id of a conversation means its present place. Anything else is answered 422. */
    before?: string
    /** Returns the conversations that precede this cursor, which is one as for `before`. */
    after?: string
    status?: "open" | "closed" | "snoozed"
    /** True returns only conversations with unread messages. */
    unread?: boolean
    /** The id of a connected number. */
    channelId?: number
    /** The name of the person who answers. */
    assignee?: string
    /** A part of the name, email or phone of the contact, or of the WhatsApp profile name, compared without case, accents and width. */
    search?: string
  }, options?: RequestOptions): Promise<{
    data: Array<Conversation>
    pagination: ConversationPagination
    hiddenMatches?: HiddenMatches
  }> {
    return this.call({ method: 'GET', path: '/public/v1/whatsapp/conversations', params }, options)
  }

  /** Get a conversation. Returns the record that the list has. */
  getConversation(params: {
    /** The id of the conversation. */
    chatId: number
  }, options?: RequestOptions): Promise<OneConversation> {
    return this.call({ method: 'GET', path: '/public/v1/whatsapp/conversations/{chatId}', params }, options)
  }

  /** Close, snooze, re-open or assign a conversation, or mark it read. Changes the members of the body. An inbound message re-opens a closed or snoozed conversation. */
  updateConversation(params: {
    /** The id of the conversation. */
    chatId: number
  }, body: ConversationChange, options?: RequestOptions): Promise<OneConversation> {
    return this.call({ method: 'PATCH', path: '/public/v1/whatsapp/conversations/{chatId}', params, json: body }, options)
  }

  /** List the messages of a conversation. The newest message comes first. A page takes the same time at any depth of the conversation. */
  listMessages(params: {
    /** The page, counted from 1. A value that is not a positive integer counts as 1. */
    page?: number
    /** The number of records on a page, at most 100. A value that is not a positive integer counts as 30. */
    pageSize?: number
    /** Returns the records with smaller ids instead of a page. The record of this id need not exist any more. */
    before?: string
    /** Returns the records with greater ids instead of a page, the ones next to it. The record of this id need not exist any more. */
    after?: string
    /** The id of the conversation. */
    chatId: number
  }, options?: RequestOptions): Promise<{
    data: Array<Message>
    pagination: Pagination
  }> {
    return this.call({ method: 'GET', path: '/public/v1/whatsapp/conversations/{chatId}/messages', params }, options)
  }

  /** Send a message in a conversation. Sends to the customer of the conversation, from its number, by the rules of `sendWhatsAppMessage`. A group is answered 400. With `sendAt` it goes to the address that the customer has then. */
  sendMessage(params: {
    /** The id of the conversation. */
    chatId: number
  }, body: MessageContent & { sendAt: string }, options?: RequestOptions): Promise<ScheduledReply>
  sendMessage(params: {
    /** The id of the conversation. */
    chatId: number
  }, body: MessageContent, options?: RequestOptions): Promise<SendReply>
  sendMessage(params: {
    /** The id of the conversation. */
    chatId: number
  }, body: MessageContent, options?: RequestOptions): Promise<SendReply | ScheduledReply> {
    return this.call({ method: 'POST', path: '/public/v1/whatsapp/conversations/{chatId}/messages', params, json: body }, options)
  }

  /** Get a message with its statuses and deliveries. Statuses are kept for 30 days, deliveries as long as their log. */
  getMessage(params: {
    /** The id of the conversation. */
    chatId: number
    /** The id of the message. */
    id: number
  }, options?: RequestOptions): Promise<{
    data: MessageDetails
  }> {
    return this.call({ method: 'GET', path: '/public/v1/whatsapp/conversations/{chatId}/messages/{id}', params }, options)
  }

  /** Show that an agent answers a conversation. Sends `answering` with the name of the credential to the open streams; nothing is stored. */
  showAnswering(params: {
    /** The id of the conversation. */
    chatId: number
  }, options?: RequestOptions): Promise<Response> {
    return this.open({ method: 'POST', path: '/public/v1/whatsapp/conversations/{chatId}/answering', params }, options)
  }

  /** List the people whom conversations can be assigned to. The names of everyone who has or had a session of the console, those that signed in last first, and those that conversations were assigned to; at most 1000. `assignee` of a conversation takes other names, too. */
  listAssignees(options?: RequestOptions): Promise<{
    data: Array<Assignee>
  }> {
    return this.call({ method: 'GET', path: '/public/v1/whatsapp/assignees' }, options)
  }

  /** List the quick replies. Returns all of them by title, at most 200. */
  listQuickReplies(options?: RequestOptions): Promise<{
    data: Array<QuickReply>
  }> {
    return this.call({ method: 'GET', path: '/public/v1/whatsapp/quick-replies' }, options)
  }

  /** Create a quick reply. A title that the company has already, in any letter case, is 409. A company has at most 200. */
  createQuickReply(body: NewQuickReply, options?: RequestOptions): Promise<OneQuickReply> {
    return this.call({ method: 'POST', path: '/public/v1/whatsapp/quick-replies', json: body }, options)
  }

  /** Change a quick reply. Changes only the members that are sent. */
  updateQuickReply(params: {
    /** The id of the quick reply. */
    id: number
  }, body: QuickReplyChange, options?: RequestOptions): Promise<OneQuickReply> {
    return this.call({ method: 'PATCH', path: '/public/v1/whatsapp/quick-replies/{id}', params, json: body }, options)
  }

  /** Delete a quick reply. Messages that were sent with it stay. */
  deleteQuickReply(params: {
    /** The id of the quick reply. */
    id: number
  }, options?: RequestOptions): Promise<Success> {
    return this.call({ method: 'DELETE', path: '/public/v1/whatsapp/quick-replies/{id}', params }, options)
  }

  /** Mark the messages of a customer as read. The customer sees two blue ticks at the last message and the earlier ones, and `unreadMessages` becomes 0. Where nothing was written, nothing is sent. */
  markConversationRead(params: {
    /** The id of the conversation. */
    chatId: number
  }, options?: RequestOptions): Promise<Success> {
    return this.call({ method: 'POST', path: '/public/v1/whatsapp/conversations/{chatId}/read', params }, options)
  }

  /** Show a customer that an answer is being written. The customer sees it for 25 seconds, or until a message comes. The provider also marks the messages of the customer as read. Before the customer wrote there is nothing to show: 422 `session_window_closed`. */
  showTyping(params: {
    /** The id of the conversation. */
    chatId: number
  }, options?: RequestOptions): Promise<Success> {
    return this.call({ method: 'POST', path: '/public/v1/whatsapp/conversations/{chatId}/typing', params }, options)
  }

  /** List scheduled messages. The one that was scheduled last comes first. `before` is the id of the last one of the page before. Messages that were sent or failed are listed for 30 days. */
  listScheduledMessages(params?: {
    /** The conversation. */
    chatId?: number
    /** Some of `scheduled`, `sent`, `failed`, with commas. */
    status?: string
    /** Returns only records with smaller ids. A value that is no id is answered 422. */
    before?: number
    /** The number of records on a page, at most 100. A value that is not a positive integer counts as 30. */
    limit?: number
  }, options?: RequestOptions): Promise<{
    data: Array<ScheduledMessage>
  }> {
    return this.call({ method: 'GET', path: '/public/v1/whatsapp/scheduled-messages', params }, options)
  }

  /** Get a scheduled message. Returns the record that the list has. */
  getScheduledMessage(params: {
    /** The id of the scheduled message. */
    id: number
  }, options?: RequestOptions): Promise<{
    data: ScheduledMessage
  }> {
    return this.call({ method: 'GET', path: '/public/v1/whatsapp/scheduled-messages/{id}', params }, options)
  }

  /** Cancel a scheduled message. Deletes a message that waits, or one that failed. After 200 it is never sent; one that was sent is answered 409 `already_sent`. */
  cancelScheduledMessage(params: {
    /** The id of the scheduled message. */
    id: number
  }, options?: RequestOptions): Promise<Success> {
    return this.call({ method: 'DELETE', path: '/public/v1/whatsapp/scheduled-messages/{id}', params }, options)
  }

  /** Count sent and billable messages. Adds up the messages of the company by their day (UTC), as far as the provider reported them. A message counts once, however often a status is repeated, also after it was deleted. */
  getUsage(params: {
    /** The first day, such as `2026-11-01`. */
    from: string
    /** The last day; at most 366 days are added up. */
    to: string
    /** `day`, `number`, `category` or `template`. */
    groupBy?: string
  }, options?: RequestOptions): Promise<{
    data: Array<Usage>
  }> {
    return this.call({ method: 'GET', path: '/public/v1/whatsapp/usage', params }, options)
  }

  /** Register a receiver. The registration is active at once. Its secret is never returned. A company has at most 50 registrations, unless the operator sets another number. */
  createRegistration(body: NewRegistration, options?: RequestOptions): Promise<Registration> {
    return this.call({ method: 'POST', path: '/public/v1/webhooks/registrations', json: body }, options)
  }

  /** List the receivers. Returns all registrations with their health, ordered by id. */
  listRegistrations(options?: RequestOptions): Promise<Array<Registration>> {
    return this.call({ method: 'GET', path: '/public/v1/webhooks/registrations' }, options)
  }

  /** Read a receiver. Returns one registration. */
  getRegistration(params: {
    /** The id of the registration. */
    id: number
  }, options?: RequestOptions): Promise<Registration> {
    return this.call({ method: 'GET', path: '/public/v1/webhooks/registrations/{id}', params }, options)
  }

  /** Change a receiver. Changes only the members that are sent, and takes the record as it was read. After `inactive` no delivery attempt starts. */
  updateRegistration(params: {
    /** The id of the registration. */
    id: number
  }, body: RegistrationChange, options?: RequestOptions): Promise<Registration> {
    return this.call({ method: 'PUT', path: '/public/v1/webhooks/registrations/{id}', params, json: body }, options)
  }

  /** Remove a receiver. Deliveries stop at once. */
  removeRegistration(params: {
    /** The id of the registration. */
    id: number
  }, options?: RequestOptions): Promise<Success> {
    return this.call({ method: 'DELETE', path: '/public/v1/webhooks/registrations/{id}', params }, options)
  }

  /** List deliveries. Returns the newest deliveries of the registration first. */
  listDeliveries(params: {
    /** Returns only records with smaller ids. A value that is no id is answered 422. */
    before?: number
    /** The number of records on a page, at most 100. A value that is not a positive integer counts as 25. */
    limit?: number
    status?: "pending" | "delivered" | "dead" | "skipped"
    /** The start of the time range. From 1970 to 9999. */
    since?: string
    /** The end of the time range. From 1970 to 9999. */
    until?: string
    /** The phone number of a customer, which finds the deliveries about the latest 100 messages; the id of a delivery; the id of a message or another event, or a part of it, which is looked for in the newest 10,000 deliveries. */
    search?: string
    /** The id of the registration. */
    id: number
  }, options?: RequestOptions): Promise<{
    data: Array<ListedDelivery>
    /** The `before` of the next page; null on the last page. */
    nextBefore: number | null
  }> {
    return this.call({ method: 'GET', path: '/public/v1/webhooks/registrations/{id}/deliveries', params }, options)
  }

  /** Get a delivery with its attempts. Returns the sent body, the headers and what the receiver answered. */
  getDelivery(params: {
    /** Whose headers `requestHeaders` shows: the `id` of an attempt, or `now` for those of an attempt at this moment. By default those of the latest attempt. */
    headersOf?: string
    /** The id of the registration. */
    id: number
    /** The id of the delivery. */
    deliveryId: number
  }, options?: RequestOptions): Promise<{
    data: DeliveryDetails
  }> {
    return this.call({ method: 'GET', path: '/public/v1/webhooks/registrations/{id}/deliveries/{deliveryId}', params }, options)
  }

  /** List delivery attempts. Returns the newest attempts first. With `before`, the id of the last attempt of a page, every attempt that is kept can be reached. */
  listDeliveryAttempts(params: {
    /** Returns only records with smaller ids. A value that is no id is answered 422. */
    before?: number
    /** The number of records on a page, at most 100. A value that is not a positive integer counts as 100. */
    limit?: number
    /** Returns only attempts with this outcome; `dead` means the last attempts of dead-lettered deliveries. */
    status?: "delivered" | "failed" | "dead"
    /** The id of the registration. */
    id: number
  }, options?: RequestOptions): Promise<Array<DeliveryAttempt>> {
    return this.call({ method: 'GET', path: '/public/v1/webhooks/registrations/{id}/logs', params }, options)
  }

  /** Send one sample delivery. Sends a sample envelope at once and returns what the receiver answered. */
  testRegistration(params: {
    /** The id of the registration. */
    id: number
  }, options?: RequestOptions): Promise<{
    data: TestDelivery
  }> {
    return this.call({ method: 'POST', path: '/public/v1/webhooks/registrations/{id}/test', params }, options)
  }

  /** Repeat a delivery. Enqueues the delivery again with the same bytes and the same delivery id. */
  redeliver(params: {
    /** The id of the registration. */
    id: number
    /** The id of the attempt. */
    logId: number
  }, options?: RequestOptions): Promise<Success> {
    return this.call({ method: 'POST', path: '/public/v1/webhooks/registrations/{id}/logs/{logId}/redeliver', params }, options)
  }

  /** Repeat the deliveries of a time range. Has the finished deliveries enqueued again with the same bytes and the same delivery ids, up to 500 a second, and answers how many it found. Those that wait for an earlier call are not enqueued twice. */
  redeliverRange(params: {
    /** The id of the registration. */
    id: number
  }, body: Redelivery, options?: RequestOptions): Promise<{
    success: true
    /** The number of deliveries that were found. */
    count: number
  }> {
    return this.call({ method: 'POST', path: '/public/v1/webhooks/registrations/{id}/redeliver', params, json: body }, options)
  }

  /** Read the file of a message. The address is the `media.url` of a message, valid for 7 days after it was read, without a credential. One Range is answered with 206, and `If-None-Match` with 304. */
  getMedia(params: {
    /** The signed token of `media.url`. */
    token: string
  }, options?: RequestOptions): Promise<Response> {
    return this.open({ method: 'GET', path: '/media/{token}', params }, options)
  }

  /** Create or update contacts. A contact with the same email is updated, else the oldest contact with the same phone; otherwise a contact is created. Without a proof of identity, a key that holds only `ContactsUpsert` changes neither email nor phone of a contact that exists, and ends no opt-out: these members are ignored. */
  upsertContacts(body: ContactWrites, options?: RequestOptions): Promise<UpsertedContacts> {
    return this.call({ method: 'POST', path: '/public/v1/contacts', json: body }, options)
  }

  /** List and search contacts. Returns a page of the contacts that are not deleted. */
  listContacts(params?: {
    /** The page, counted from 1. A value that is not a positive integer counts as 1. */
    page?: number
    /** The number of records on a page, at most 100. A value that is not a positive integer counts as 25. */
    limit?: number
    /** A part of the email, phone or name, compared without case, accents and width. */
    search?: string
    /** Only contacts with this status. */
    status?: string
    /** Only contacts with this tag. */
    tag?: string
    /** Only contacts whose consent to marketing by email is this one. */
    emailConsent?: "yes" | "no" | "unknown"
    /** Only contacts whose consent to marketing by WhatsApp is this one. */
    whatsappConsent?: "yes" | "no" | "unknown"
    /** Only contacts with this value of a custom field: the key, a colon and the value, such as `LOYALTY_TIER:gold`. A number, `true` and `false` are found as values and as texts. */
    field?: string
    /** The order; a leading - means descending. Without it the list is sorted by -created_at, and a search ranks: contacts with a word that starts with it come first, unless it examines only a part of the contacts. */
    sort?: "created_at" | "-created_at" | "updated_at" | "-updated_at" | "email" | "-email"
    /** Returns the contacts that sort lower than this cursor, nearest first, instead of a page. It takes the same time at any depth. A value that is no cursor of the same sort is answered 422. */
    before?: string
    /** Returns the contacts that sort higher than this cursor, nearest first, instead of a page. */
    after?: string
  }, options?: RequestOptions): Promise<{
    data: Array<Contact>
    pagination: ContactPagination
    hiddenMatches?: HiddenMatches
  }> {
    return this.call({ method: 'GET', path: '/public/v1/contacts', params }, options)
  }

  /** Read a contact. Returns one contact. */
  getContact(params: {
    /** The id of the contact. */
    id: number
  }, options?: RequestOptions): Promise<OneContact> {
    return this.call({ method: 'GET', path: '/public/v1/contacts/{id}', params }, options)
  }

  /** Update a contact. Changes only the members that are sent. */
  updateContact(params: {
    /** The id of the contact. */
    id: number
  }, body: ContactWrite, options?: RequestOptions): Promise<OneContact> {
    return this.call({ method: 'PUT', path: '/public/v1/contacts/{id}', params, json: body }, options)
  }

  /** Delete or erase a contact. Without `erase` the contact is no longer found, and its conversations stay. Erasing removes the person: the contact, texts and media of its messages, its mails, payloads in delivery logs and rows of imports. Counters and opt-outs (as a keyed hash) stay. Erasing also works on deleted contacts, cannot be undone, and is answered when it is recorded durably: what takes longer than 3 seconds continues in the background. */
  deleteContact(params: {
    /** Whether to erase everything about the person. */
    erase?: boolean
    /** The id of the contact. */
    id: number
  }, options?: RequestOptions): Promise<Success> {
    return this.call({ method: 'DELETE', path: '/public/v1/contacts/{id}', params }, options)
  }

  /** Look a contact up by email. Returns the contact with this email, compared without regard to case. */
  getContactByEmail(params: {
    /** The email address, URL-encoded. */
    email: string
  }, options?: RequestOptions): Promise<OneContact> {
    return this.call({ method: 'GET', path: '/public/v1/contacts/by-email/{email}', params }, options)
  }

  /** Read the history of the consent of a contact. Returns what was said about marketing through the contact, or under its address, its number and the current identities of its customers, newest first. */
  listConsent(params: {
    /** The id of the contact. */
    id: number
  }, options?: RequestOptions): Promise<{
    data: Array<ConsentEntry>
  }> {
    return this.call({ method: 'GET', path: '/public/v1/contacts/{id}/consent', params }, options)
  }

  /** Read the conversations and emails of a contact. Returns the conversations of the contact, by their last activity, and the emails to its present address, newest first. Conversations need the permission `WhatsApp`, emails `Transactional`: what the caller may not read is left out. */
  listActivity(params: {
    /** The number of records on a page, at most 100. A value that is not a positive integer counts as 25. */
    limit?: number
    /** The cursor of the page before. */
    before?: string
    /** The id of the contact. */
    id: number
  }, options?: RequestOptions): Promise<{
    data: Array<ContactActivity>
    /** The cursor of the next page, to pass as `before`; null on the last page. */
    nextBefore: string | null
  }> {
    return this.call({ method: 'GET', path: '/public/v1/contacts/{id}/activity', params }, options)
  }

  /** Read everything stored about a contact. Returns lines of JSON, `{"type", "data"}`: `contact` first, then `consent` (all that was said about marketing), `conversation`, `message` (with statuses, reactions, changes and media), `delivery` (payload and attempts), `reaction`, `message_change` and `status` (that refer to messages of others or that are not stored), `email` (with content, links and clicks), `import_refusal`, `failed_event` (the body in base64) and `daily_limit`. Deleted contacts can be read until they are erased. */
  archiveContact(params: {
    /** The id of the contact. */
    id: number
  }, options?: RequestOptions): Promise<Response> {
    return this.open({ method: 'GET', path: '/public/v1/contacts/{id}/archive', params }, options)
  }

  /** Import a list of contacts. Answers as soon as the list is stored. Its rows are then applied in their order, as by create-or-update; a row at fault is refused alone. */
  importContacts(body: TextBody<"text/csv" | "application/x-ndjson">, params?: {
    /** The separator of a CSV; without it, a `sep=` line or the first line shows it. */
    delimiter?: "," | ";" | "\t" | "comma" | "semicolon" | "tab"
    /** The encoding of a CSV; without it, a byte order mark or the bytes show it. A byte order mark decides between the two of UTF-16. */
    encoding?: "utf-8" | "utf-16le" | "utf-16be" | "windows-1252"
    /** The program that exported a CSV: its columns are read by the names that it gives them. */
    profile?: "mailchimp" | "hubspot" | "klaviyo" | "brevo"
    /** Words that opt in, besides `yes`, `true`, `1`, `opted in` and `subscribed`. Separated by commas, at most 20. */
    consentYes?: string
    /** Words that opt out, besides `no`, `false`, `0`, `opted out` and `unsubscribed`. Separated by commas, at most 20. */
    consentNo?: string
  }, options?: RequestOptions): Promise<{
    data: ContactImport
  }> {
    return this.call({ method: 'POST', path: '/public/v1/contacts/import', params, text: body }, options)
  }

  /** List imports. Returns the newest imports first. `before` is the id of the last import of the page before. */
  listImports(params?: {
    /** Returns only records with smaller ids. A value that is no id is answered 422. */
    before?: number
    /** The number of records on a page, at most 100. A value that is not a positive integer counts as 25. */
    limit?: number
  }, options?: RequestOptions): Promise<{
    data: Array<ListedImport>
  }> {
    return this.call({ method: 'GET', path: '/public/v1/contacts/imports', params }, options)
  }

  /** Cancel an import. Rows that were imported before stay. An import that has ended does not change. */
  cancelImport(params: {
    /** The id of the import. */
    id: number
  }, options?: RequestOptions): Promise<Success> {
    return this.call({ method: 'DELETE', path: '/public/v1/contacts/imports/{id}', params }, options)
  }

  /** Read the progress of an import. Returns the counts of rows and the first refused rows. */
  getImport(params: {
    /** The id of the import. */
    id: number
  }, options?: RequestOptions): Promise<{
    data: ContactImport
  }> {
    return this.call({ method: 'GET', path: '/public/v1/contacts/imports/{id}', params }, options)
  }

  /** Download the refused rows of an import. Returns the refused rows in the format and with the separator of the list, in UTF-8, each with its line and the reason. After a correction the file can be imported again. */
  downloadRefusedRows(params: {
    /** The id of the import. */
    id: number
  }, options?: RequestOptions): Promise<Response> {
    return this.open({ method: 'GET', path: '/public/v1/contacts/imports/{id}/refused', params }, options)
  }

  /** Export all contacts. Returns all contacts, in the columns of the import; an import of the answer changes nothing. */
  exportContacts(params?: {
    /** The format; without it the Accept header decides, and `csv` is the default. */
    format?: "csv" | "ndjson"
    /** The separator of CSV; a comma by default. */
    delimiter?: "," | ";" | "\t" | "comma" | "semicolon" | "tab"
    /** Whether CSV begins with a byte order mark, by which spreadsheets recognize UTF-8. */
    bom?: boolean
    /** A ' is put before what a spreadsheet takes for a formula in a CSV cell, at its start and behind separators and line ends in it; the import removes it. `true` leaves the cells as they are. */
    raw?: boolean
  }, options?: RequestOptions): Promise<Response> {
    return this.open({ method: 'GET', path: '/public/v1/contacts/export', params }, options)
  }

  /** Define a custom field. Contacts can have custom fields without a definition, too. The new one is the last in the order. */
  createCustomField(body: NewCustomField, options?: RequestOptions): Promise<{
    data: CustomField
  }> {
    return this.call({ method: 'POST', path: '/public/v1/custom-fields', json: body }, options)
  }

  /** List custom fields. Returns all definitions in their order, or with `groupBy` the definitions of each category. */
  listCustomFields(params?: {
    /** Groups the definitions. */
    groupBy?: "category"
    /** Whether definitions that are retired are listed, too. */
    includeRetired?: boolean
  }, options?: RequestOptions): Promise<{
    data: Array<CustomField> | CustomFieldGroups
  }> {
    return this.call({ method: 'GET', path: '/public/v1/custom-fields', params }, options)
  }

  /** Put custom fields in an order. Lists and forms show the definitions in this order. Those that are not named follow in the order that they have. */
  orderCustomFields(body: CustomFieldOrder, options?: RequestOptions): Promise<{
    data: Array<CustomField>
  }> {
    return this.call({ method: 'PUT', path: '/public/v1/custom-fields/order', json: body }, options)
  }

  /** Rename or retire a custom field. Changes only the members that are sent, and takes the record as it was read; `key` and `type` stay. A retired definition is not offered any more: lists leave it out, and contacts keep their values. */
  updateCustomField(params: {
    /** The id of the definition. */
    id: number
  }, body: CustomFieldChange, options?: RequestOptions): Promise<{
    data: CustomField
  }> {
    return this.call({ method: 'PATCH', path: '/public/v1/custom-fields/{id}', params, json: body }, options)
  }

  /** Read the statistics of an email. Returns the status, opens and clicks of a one-shot or template email. */
  getEmailStats(params: {
    /** The id of the email, `eml_…`. */
    id: string
  }, options?: RequestOptions): Promise<{
    data: EmailStats
  }> {
    return this.call({ method: 'GET', path: '/public/v1/emails/{id}/stats', params }, options)
  }

  /** Send an email. The email is accepted at once and sent in the background. After a temporary refusal of the mail server the service retries for up to 24 hours. An email that the mail server refuses permanently has the status `failed` and the words of the server in its statistics. Links lead through an address of this service that counts clicks, and an invisible image counts opens. */
  sendEmail(body: NewEmail, options?: RequestOptions): Promise<{
    data: AcceptedEmail
  }> {
    return this.call({ method: 'POST', path: '/public/v1/emails', json: body }, options)
  }

  /** Read the statistics of an email template. Returns the rates over all emails that were sent from the template. */
  getEmailTemplateStats(params: {
    /** The `transactionalId` of the email template. */
    id: number
  }, options?: RequestOptions): Promise<{
    data: EmailTemplateStats
  }> {
    return this.call({ method: 'GET', path: '/public/v1/transactionals/{id}/stats', params }, options)
  }

  /** Send an email made from a template. The email is accepted at once and sent in the background. After a temporary refusal of the mail server the service retries for up to 24 hours. An email that the mail server refuses permanently has the status `failed` and the words of the server in its statistics. Links lead through an address of this service that counts clicks, and an invisible image counts opens. */
  sendTemplateEmail(body: NewTemplateEmail, options?: RequestOptions): Promise<{
    success: true
    data: AcceptedTemplateEmail
  }> {
    return this.call({ method: 'POST', path: '/public/v1/templates/email/send', json: body }, options)
  }

  /** List the email templates. Returns all email templates of the company. */
  listEmailTemplates(options?: RequestOptions): Promise<{
    data: Array<EmailTemplateItem>
  }> {
    return this.call({ method: 'GET', path: '/public/v1/templates/email' }, options)
  }

  /** Send an email made from a template. Does what `POST /public/v1/templates/email/send` does. @deprecated */
  legacySendTemplateEmail(body: LegacyTemplateEmail, options?: RequestOptions): Promise<{
    status: 200
    warning?: DeprecationWarning
  }> {
    return this.call({ method: 'POST', path: '/api/transactionals', json: body }, options)
  }

  /** List the email templates. Returns what `GET /public/v1/templates/email` returns, in the shape of then. @deprecated */
  legacyListEmailTemplates(options?: RequestOptions): Promise<{
    templates: Array<LegacyEmailTemplate>
    warning?: DeprecationWarning
  }> {
    return this.call({ method: 'GET', path: '/api/transactionals' }, options)
  }

  /** Send a WhatsApp message. Does what `POST /public/v1/templates/whatsapp/send` does. @deprecated */
  legacySendWhatsAppMessage(body: LegacySend, options?: RequestOptions): Promise<{
    success: true
    data: SentMessage
    warning?: DeprecationWarning
  }> {
    return this.call({ method: 'POST', path: '/api/transactionals/whatsapp/send', json: body }, options)
  }

  /** List the WhatsApp templates. Returns what `GET /public/v1/templates/whatsapp` returns. @deprecated */
  legacyListWhatsAppTemplates(options?: RequestOptions): Promise<{
    data: Array<Template>
    warning?: DeprecationWarning
  }> {
    return this.call({ method: 'GET', path: '/api/transactionals/whatsapp/templates' }, options)
  }

  /** Create or update contacts by email. Updates the contact with the same email, or creates one. A key that holds only `ContactsUpsert` gets no id. @deprecated */
  legacyUpsertContact(body: LegacyContact | Array<LegacyContact>, options?: RequestOptions): Promise<Array<LegacyContactId>> {
    return this.call({ method: 'POST', path: '/api/contacts', json: body }, options)
  }

  /** Create a link that signs in to the console. The link works once. Its session ends with the API key that created it, directly or through a session of the console; that session needs the role `admin`. */
  createSignInLink(body: SignInLinkRequest, options?: RequestOptions): Promise<SignInLink> {
    return this.call({ method: 'POST', path: '/public/v1/console/sign-in-links', json: body }, options)
  }
}
