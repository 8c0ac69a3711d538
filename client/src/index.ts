/** The public names of the package. */
export { type ClientErrorCode, type KnownError, ParleyError } from './error.ts'
export type * from './generated/schemas.ts'
export { Parley, type ParleyOptions } from './parley.ts'
export { expressReceiver, fastifyReceiver, type ReceiverOptions } from './receivers.ts'
export type { RequestOptions, TextBody } from './request.ts'
export { type VerifyOptions, verifyWebhook, type WebhookHeaders, webhooks } from './webhook.ts'
