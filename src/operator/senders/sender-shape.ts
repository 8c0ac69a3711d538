import { Type } from 'typebox'
import { DEFAULT_PROVIDER } from '../../providers/provider-name.ts'
import { PROVIDER_NAMES } from '../../providers/provider-names.ts'
import { MARKETING_ADDRESSES, type SenderRecord } from '../../senders/sender.ts'
import { orNull, plainText, secretText } from '../shape.ts'

const LARGEST_INTEGER = 2_147_483_647

const Tier = orNull(
  Type.Integer({
    minimum: 1,
    maximum: 4,
    title: 'SenderTier',
    description: 'The tier of the daily limit: 1,000, 10,000, 100,000 or unlimited customers.',
  }),
)
const DailyLimit = orNull(
  Type.Integer({
    minimum: 1,
    maximum: LARGEST_INTEGER,
    title: 'DailyLimit',
    description:
      'The number of customers that the number may write to first within 24 hours. It takes precedence over the tier.',
  }),
)

const Throughput = orNull(
  Type.Integer({
    minimum: 1,
    maximum: 1_000_000,
    title: 'Throughput',
    description:
      'The number of messages per second, by default 80, or 20 for a number that the phone app uses too. Above 1,000 no message waits, not even many to one customer.',
  }),
)

const MarketingAddress = Type.Enum([...MARKETING_ADDRESSES], {
  title: 'MarketingAddress',
  description:
    'Where templates of the category MARKETING go: `marketing` to the provider’s own address for them, `messages` with all other messages, `auto` (default) to the former once the account has signed the provider’s terms for it.',
})
const DirectSend = Type.Boolean({
  title: 'DirectSend',
  description:
    'Whether the provider has allowed Direct Send to the business account: texts with a `category` may then be sent outside the 24-hour window. Default false.',
})

const EXAMPLE = {
  provider: DEFAULT_PROVIDER,
  phoneNumber: '+39 06 5550 1234',
  phoneName: 'Rossi Shoes',
  phoneNumberId: '106540352242922',
  wabaAccountId: '102290129340398',
}

const settings = {
  provider: Type.Enum([...PROVIDER_NAMES], { description: 'The provider through which the number is connected.' }),
  phoneNumber: Type.Optional(
    plainText({
      maxLength: 40,
      title: 'PhoneNumberText',
      description: 'The phone number with country code, in any formatting. Without it the provider is asked.',
    }),
  ),
  phoneName: Type.Optional(
    plainText({
      maxLength: 200,
      title: 'BusinessName',
      description: 'The display name of the business. Without it the provider is asked.',
    }),
  ),
  phoneNumberId: plainText({ maxLength: 128, description: 'The id of the number at the provider.' }),
  wabaAccountId: plainText({ maxLength: 128, description: 'The id of the business account at the provider.' }),
  accessToken: secretText({
    maxLength: 4096,
    title: 'AccessToken',
    description: 'The credential at the provider, which is stored encrypted and never returned.',
  }),
  appSecret: Type.Optional(
    orNull(
      secretText({
        maxLength: 512,
        title: 'AppSecret',
        description: 'The app secret. When it is set, events without its signature are refused. It is never returned.',
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
          'A secret for providers that do not sign. When it is set, events are refused unless they carry it in the header X-Webhook-Secret or as the last segment of the path. It is never returned.',
      }),
    ),
  ),
  apiBaseUrl: Type.Optional(
    orNull(
      Type.String({
        maxLength: 2048,
        title: 'ApiBaseUrl',
        description: 'The address to which the paths of the provider are added, by default its public address.',
      }),
    ),
  ),
  appId: Type.Optional(
    orNull(
      plainText({
        maxLength: 128,
        title: 'AppId',
        description:
          'The id of the app that has the number, for providers with apps, by default the last segment of `apiBaseUrl`.',
      }),
    ),
  ),
  appName: Type.Optional(
    orNull(
      plainText({
        maxLength: 128,
        title: 'AppName',
        description: 'The name of the app, which template events contain.',
      }),
    ),
  ),
  portfolioId: Type.Optional(
    orNull(
      plainText({
        maxLength: 128,
        title: 'PortfolioId',
        description:
          'The id of the business portfolio at the provider: all numbers of a portfolio share its daily limit.',
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
    channelId: Type.Integer({ description: 'The id of the sender.' }),
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
    isSharedWithApp: Type.Boolean({ description: 'Whether the phone app uses the number too, as the provider says.' }),
    marketingAddress: MarketingAddress,
    marketingTermsSigned: Type.Boolean({
      description: 'Whether the account has signed the terms for marketing messages, as the provider reports it.',
    }),
    directSend: DirectSend,
    webhookUrl: Type.String({ description: 'The address to which the provider has to post its events.' }),
    webhookVerifyToken: orNull(
      Type.String({ description: 'The token for the handshake, for providers that make one.' }),
    ),
    webhookSteps: Type.String({ description: 'The values to enter at the provider.' }),
    createdAt: Type.String({ format: 'date-time' }),
  },
  {
    title: 'ConnectedSender',
    description: 'A connected WhatsApp number without its secrets.',
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
