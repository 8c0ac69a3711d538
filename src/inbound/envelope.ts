import {
  type ChangeItem,
  type InboundItem,
  type MessageItem,
  NO_DETAILS,
  type ReactionItem,
} from '../providers/events/event-item.ts'
import type { ProviderName } from '../providers/provider-name.ts'
import { digitsOf } from '../text/phone.ts'

/** An item that receivers get. */
export type Forwardable = (MessageItem | ChangeItem | ReactionItem) & { isForwarded: true }

export type EnvelopeChannel = {
  companyId: number
  provider: ProviderName
  /** Our stored number, in any formatting; null takes the one that the event names. */
  phoneNumber: string | null
  channelId: number | null
}

/** Whether deliveries are made of an item: messages, changes and reactions that receivers may subscribe to. */
export const isForwardable = (item: InboundItem): item is Forwardable =>
  (item.kind === 'message' || item.kind === 'change' || item.kind === 'reaction') && item.isForwarded

/**
 * The body of every delivery of this item, serialised once (spec: Envelope). `raw` is the provider's own text, spliced
 * in as it came; like any JSON it may hold `\u0000` and lone surrogates as escapes, so keep the result as text, not as
 * jsonb.
 */
export function buildEnvelope(item: Forwardable, channel: EnvelopeChannel): string {
  const envelope = {
    version: '1',
    event: 'whatsapp.message.received',
    companyId: channel.companyId,
    channel: {
      provider: channel.provider,
      phoneNumber: digitsOf(channel.phoneNumber ?? '') || item.businessPhone,
      channelId: channel.channelId,
    },
    contact: { phone: item.customer.phone, name: item.customer.profileName, userId: item.customer.userId },
    message: toMessage(item),
  }
  return `${JSON.stringify(envelope).slice(0, -1)},"raw":${item.raw()}}`
}

/** Members in the order of the specification's table. */
const toMessage = (item: Forwardable) => ({
  wamid: item.wamid,
  ...(item.kind === 'reaction' ? toReaction(item) : toContent(item)),
  isEcho: item.isEcho,
  timestamp: item.timestamp,
  timestampIso: item.timestamp === null ? null : new Date(item.timestamp * 1000).toISOString(),
  ...toAdditions(item),
})

/** Members that the specification does not know (decisions: Envelope); null where they are absent. */
function toAdditions(item: Forwardable) {
  const { quotedWamid, originalWamid, details } = item.kind === 'reaction' ? NOTHING_MORE : item
  const { reply, referral, location, contacts, order } = details
  return { reply, quotedWamid, originalWamid, groupId: item.groupId, referral, location, contacts, order }
}

const NOTHING_MORE = { quotedWamid: null, originalWamid: null, details: NO_DETAILS }

const toContent = ({ type, text, media }: MessageItem | ChangeItem) => ({
  type,
  text,
  ...(media && { media: toMedia(media) }),
})

const toMedia = ({ kind, mimeType, filename, caption, voice, providerMediaId }: NonNullable<MessageItem['media']>) => ({
  kind,
  mimeType,
  filename,
  caption,
  voice,
  providerMediaId,
})

const toReaction = ({ targetWamid, emoji }: ReactionItem) => ({
  type: 'reaction',
  text: null,
  reaction: { targetWamid, emoji },
})
