import { Type } from 'typebox'
import { PROVIDER_NAMES } from '../providers/provider-name.ts'
import type { SenderRecord } from '../senders/sender.ts'
import { orNull, plainText, secretText } from './shape.ts'

const LARGEST_INTEGER = 2_147_483_647

const Tier = orNull(
  Type.Integer({ minimum: 1, maximum: 4, description: 'Daily limit by tier: 1,000 / 10,000 / 100,000 / unlimited' }),
)
const DailyLimit = orNull(
  Type.Integer({
    minimum: 1,
    maximum: LARGEST_INTEGER,
    description: 'Customers whom the number may be the first to write to within 24 hours; goes before the tier',
  }),
)

const Throughput = orNull(
  Type.Integer({
    minimum: 1,
    maximum: 1_000_000,
    description:
      'Messages a second that the number may send; unless set 80, or 20 for a number that is also used in the phone app. Above 1,000 nothing is held back, not even many messages to one customer',
  }),
)

export const NewSenderBody = Type.Object({
  provider: Type.Enum([...PROVIDER_NAMES], { description: 'The protocol through which the number is connected' }),
  phoneNumber: Type.Optional(
    plainText({
      maxLength: 40,
      description: 'The telephone number with country code, in any formatting; asked of the provider unless given',
    }),
  ),
  phoneName: Type.Optional(
    plainText({ maxLength: 200, description: 'Display name of the business; asked of the provider unless given' }),
  ),
  phoneNumberId: plainText({ maxLength: 128, description: "The provider's id of the number" }),
  wabaAccountId: plainText({ maxLength: 128, description: "The provider's id of the business account" }),
  accessToken: secretText({ maxLength: 4096, description: "The provider's credential; kept encrypted, never shown" }),
  appSecret: Type.Optional(
    orNull(secretText({ maxLength: 512, description: 'Set: events that it did not sign are refused; never shown' })),
  ),
  webhookSecret: Type.Optional(
    orNull(
      Type.String({
        minLength: 16,
        maxLength: 256,
        pattern: '^[A-Za-z0-9._~-]*$',
        description:
          'For providers that do not sign. Set: events about the number are refused that do not bring it, in the header X-Webhook-Secret or as the last segment of the path; never shown',
      }),
    ),
  ),
  apiBaseUrl: Type.Optional(
    orNull(
      Type.String({
        maxLength: 2048,
        description: "Address to which the provider's own paths are added; its public address unless set",
      }),
    ),
  ),
  appId: Type.Optional(
    orNull(
      plainText({
        maxLength: 128,
        description:
          'The id of the app that holds the number, for providers with apps. Default: the last segment of apiBaseUrl',
      }),
    ),
  ),
  appName: Type.Optional(
    orNull(plainText({ maxLength: 128, description: "The app's name, by which its template events call it" })),
  ),
  isPreferred: Type.Optional(
    Type.Boolean({ description: 'Whether sends that name no sender use it; the first number always is preferred' }),
  ),
  tier: Type.Optional(Tier),
  dailyLimit: Type.Optional(DailyLimit),
  throughputPerSecond: Type.Optional(Throughput),
})
export const SenderChangeBody = Type.Partial(NewSenderBody)

export const SenderReply = Type.Object(
  {
    channelId: Type.Integer({ description: 'Id of the sender' }),
    provider: Type.String(),
    phoneNumber: Type.String(),
    phoneName: Type.String(),
    phoneNumberId: Type.String(),
    isPreferred: Type.Boolean(),
    wabaAccountId: Type.String(),
    tier: Tier,
    dailyLimit: DailyLimit,
    apiBaseUrl: orNull(Type.String()),
    appId: orNull(Type.String()),
    appName: orNull(Type.String()),
    throughputPerSecond: Throughput,
    isSharedWithApp: Type.Boolean({ description: 'Whether the provider says that the phone app uses the number too' }),
    webhookUrl: Type.String({ description: 'Where the provider has to post its events' }),
    webhookVerifyToken: orNull(
      Type.String({ description: 'The token for the handshake, where the provider makes one' }),
    ),
    webhookSteps: Type.String({ description: 'What to enter at the provider' }),
    createdAt: Type.String({ format: 'date-time' }),
  },
  { description: 'A connected WhatsApp number, without its secrets' },
)

/** Where a sender's events have to come, and what to do about it at its provider. */
export type WebhookGuide = { url: string; verifyToken: string | null; steps: string }

export const toSenderReply = (sender: SenderRecord, guide: WebhookGuide) => ({
  channelId: sender.id,
  provider: sender.provider,
  phoneNumber: sender.phoneNumber,
  phoneName: sender.phoneName,
  phoneNumberId: sender.phoneNumberId,
  isPreferred: sender.isPreferred,
  wabaAccountId: sender.wabaAccountId,
  tier: sender.tier,
  dailyLimit: sender.dailyLimit,
  apiBaseUrl: sender.apiBaseUrl,
  appId: sender.appId,
  appName: sender.appName,
  throughputPerSecond: sender.throughputPerSecond,
  isSharedWithApp: sender.isSharedWithApp,
  webhookUrl: guide.url,
  webhookVerifyToken: guide.verifyToken,
  webhookSteps: guide.steps,
  createdAt: sender.createdAt.toISOString(),
})
