import { Type } from 'typebox'
import { PROVIDERS, type SenderRecord } from '../senders/sender.ts'
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

export const NewSenderBody = Type.Object({
  provider: Type.Enum([...PROVIDERS], { description: 'The protocol through which the number is connected' }),
  phoneNumber: plainText({ maxLength: 40, description: 'The telephone number with country code, in any formatting' }),
  phoneName: plainText({ maxLength: 200, description: 'Display name of the business' }),
  phoneNumberId: plainText({ maxLength: 128, description: "The provider's id of the number" }),
  wabaAccountId: plainText({ maxLength: 128, description: "The provider's id of the business account" }),
  accessToken: secretText({ maxLength: 4096, description: "The provider's credential; kept encrypted, never shown" }),
  appSecret: Type.Optional(
    orNull(secretText({ maxLength: 512, description: 'Set: events that it did not sign are refused; never shown' })),
  ),
  apiBaseUrl: Type.Optional(
    orNull(
      Type.String({
        maxLength: 2048,
        description: "Address to which the provider's own paths are added; its public address unless set",
      }),
    ),
  ),
  isPreferred: Type.Optional(
    Type.Boolean({ description: 'Whether sends that name no sender use it; the first number always is preferred' }),
  ),
  tier: Type.Optional(Tier),
  dailyLimit: Type.Optional(DailyLimit),
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
    createdAt: Type.String({ format: 'date-time' }),
  },
  { description: 'A connected WhatsApp number, without its secrets' },
)

export const toSenderReply = (sender: SenderRecord) => ({
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
  createdAt: sender.createdAt.toISOString(),
})
