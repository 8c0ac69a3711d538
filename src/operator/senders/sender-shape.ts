import { Type } from 'typebox'
import { DEFAULT_PROVIDER } from '../../providers/provider-name.ts'
import { PROVIDER_NAMES } from '../../providers/provider-names.ts'
import type { SenderRecord } from '../../senders/sender.ts'
import { MARKETING_ADDRESSES } from '../../senders/sender-store.ts'
import { orNull, plainText, secretText } from '../shape.ts'

const LARGEST_INTEGER = 2_147_483_647

const Tier = orNull(
  Type.Integer({
    minimum: 1,
    maximum: 4,
    title: 'SenderTier',
    description: 'Daily limit tier: 1,000, 10,000, 100,000 or unlimited customers.',
  }),
)
const DailyLimit = orNull(
  Type.Integer({
    minimum: 1,
    maximum: LARGEST_INTEGER,
    title: 'DailyLimit',
    description: 'How many customers the number may write to first within 24 hours. Overrides the tier.',
  }),
)

const Throughput = orNull(
  Type.Integer({
    minimum: 1,
    maximum: 1_000_000,
    title: 'Throughput',
    description:
      'Messages per second, by default 80, or 20 for a number also used in the phone app. Above 1,000 no message waits, not even many to one customer.',
  }),
)

const MarketingAddress = Type.Enum([...MARKETING_ADDRESSES], {
  title: 'MarketingAddress',
  description:
    'Where MARKETING templates are sent: `marketing` to the provider’s marketing address, `messages` with all other messages, `auto` (default) to the marketing address once the account has signed the provider’s terms.',
})
const DirectSend = Type.Boolean({
  title: 'DirectSend',
  description:
    'Whether the provider has enabled Direct Send for the business account: texts with a `category` may then be sent outside the 24-hour window. Default false.',
})

const EXAMPLE = {
  provider: DEFAULT_PROVIDER,
  phoneNumber: '+39 06 5550 1234',
  phoneName: 'Rossi Shoes',
  phoneNumberId: '106540352242922',
  wabaAccountId: '102290129340398',
}

const settings = {
  provider: Type.Enum([...PROVIDER_NAMES], { description: 'Provider of the number.' }),
  phoneNumber: Type.Optional(
    plainText({
      maxLength: 40,
      title: 'PhoneNumberText',
      description: 'Phone number with country code, in any formatting. Requested from the provider if omitted.',
    }),
  ),
  phoneName: Type.Optional(
    plainText({
      maxLength: 200,
      title: 'BusinessName',
      description: 'Display name of the business. Requested from the provider if omitted.',
    }),
  ),
  phoneNumberId: plainText({ maxLength: 128, description: "The number's id at the provider." }),
  wabaAccountId: plainText({ maxLength: 128, description: "The business account's id at the provider." }),
  accessToken: secretText({
    maxLength: 4096,
    title: 'AccessToken',
    description: 'Provider credential. Stored encrypted and never returned.',
  }),
  appSecret: Type.Optional(
    orNull(
      secretText({
        maxLength: 512,
        title: 'AppSecret',
        description: 'App secret. If set, events without a valid signature are refused. Never returned.',
      }),
    ),
  ),
  webhookSecret: Type.Optional(
    orNull(
      Type.String({
        minLength: 16,
        maxLength: 256,
        pattern: '^[A-Za-z0-9._~-]*$',
        title: 'WebhookSecret',
        description:
          "A secret for providers that don't sign. If set, events must carry it in the header X-Webhook-Secret or as the last path segment. Never returned.",
      }),
    ),
  ),
  apiBaseUrl: Type.Optional(
    orNull(
      Type.String({
        maxLength: 2048,
        title: 'ApiBaseUrl',
        description: "Base URL for provider calls, by default the provider's public address.",
      }),
    ),
  ),
  appId: Type.Optional(
    orNull(
      plainText({
        maxLength: 128,
        title: 'AppId',
        description:
          'Id of the app with the number, for providers with apps; by default the last segment of `apiBaseUrl`.',
      }),
    ),
  ),
  appName: Type.Optional(
    orNull(
      plainText({
        maxLength: 128,
        title: 'AppName',
        description: 'App name, as contained in template events.',
      }),
    ),
  ),
  portfolioId: Type.Optional(
    orNull(
      plainText({
        maxLength: 128,
        title: 'PortfolioId',
        description: 'Business portfolio id at the provider: all numbers of a portfolio share its daily limit.',
      }),
    ),
  ),
  isPreferred: Type.Optional(
    Type.Boolean({
      title: 'IsPreferred',
      description: 'Whether sends without `sender` use the number. The first number is always preferred.',
    }),
  ),
  tier: Type.Optional(Tier),
  dailyLimit: Type.Optional(DailyLimit),
  throughputPerSecond: Type.Optional(Throughput),
  marketingAddress: Type.Optional(MarketingAddress),
  directSend: Type.Optional(DirectSend),
}

export const SenderChangeBody = Type.Partial(Type.Object(settings), {
  title: 'ConnectedSenderChange',
  example: { isPreferred: true, tier: 2 },
})

export const NewSenderBody = Type.Object(settings, {
  title: 'ConnectSenderRequest',
  example: { ...EXAMPLE, accessToken: 'EAAGm0PX4ZCpsBAKZC', appSecret: '5f1d0c7a9be24e6d' },
})

export const SenderReply = Type.Object(
  {
    channelId: Type.Integer({ description: 'Sender id.' }),
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
    portfolioId: orNull(Type.String()),
    throughputPerSecond: Throughput,
    isSharedWithApp: Type.Boolean({
      description: 'Whether the number is also used in the phone app, as reported by the provider.',
    }),
    marketingAddress: MarketingAddress,
    marketingTermsSigned: Type.Boolean({
      description: 'Whether the account has signed the terms for marketing messages, as reported by the provider.',
    }),
    directSend: DirectSend,
    webhookUrl: Type.String({ description: 'URL to which the provider must post events.' }),
    webhookVerifyToken: orNull(Type.String({ description: 'Handshake token, for providers with a handshake.' })),
    webhookSteps: Type.String({ description: 'Values to enter at the provider.' }),
    createdAt: Type.String({ format: 'date-time' }),
  },
  {
    title: 'ConnectedSender',
    description: 'A connected WhatsApp number without secrets.',
    example: {
      channelId: 3,
      ...EXAMPLE,
      isPreferred: true,
      tier: 1,
      dailyLimit: null,
      apiBaseUrl: null,
      appId: null,
      appName: null,
      portfolioId: null,
      throughputPerSecond: null,
      isSharedWithApp: false,
      marketingAddress: 'auto',
      marketingTermsSigned: true,
      directSend: false,
      webhookUrl: 'https://parley.example.com/public/v1/webhooks/whatsapp',
      webhookVerifyToken: null,
      webhookSteps: 'Enter the address and the verify token in the app dashboard and subscribe to messages.',
      createdAt: '2026-02-20T10:15:00.000Z',
    },
  },
)

/** `verifyToken`: undefined if the provider has no handshake, null if no token is set. */
export type WebhookGuide = { url: string; verifyToken: string | null | undefined; steps: string }

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
  portfolioId: sender.portfolioId,
  throughputPerSecond: sender.throughputPerSecond,
  isSharedWithApp: sender.isSharedWithApp,
  marketingAddress: sender.marketingAddress,
  marketingTermsSigned: sender.marketingTermsSigned,
  directSend: sender.directSend,
  webhookUrl: guide.url,
  webhookVerifyToken: guide.verifyToken ?? null,
  webhookSteps: guide.steps,
  createdAt: sender.createdAt.toISOString(),
})
