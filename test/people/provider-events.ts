import { bodyOf, changeOf, newWamid, secondsNow } from '../provider-webhook.ts'

/** A customer as an event names them: by phone number, by user id, or by both. */
export type Named = { phone?: string | null; userId?: string | null }

type Details = { id?: string; timestamp?: number }

const fromMembers = ({ phone, userId }: Named) => ({
  ...(phone && { from: phone }),
  ...(userId && { from_user_id: userId }),
})

const listed = ({ phone, userId }: Named) => ({
  ...(phone && { wa_id: phone }),
  ...(userId && { user_id: userId }),
  profile: { name: 'Customer' },
})

const event = (phoneNumberId: string, value: object, timestamp = secondsNow(), field = 'messages') => {
  const body = bodyOf(changeOf(phoneNumberId, value, field))
  return { ...body, entry: body.entry.map((entry) => ({ ...entry, time: timestamp })) }
}

/** Bodies of the provider's webhook for one number, one event each. */
export const eventsAt = (phoneNumberId: string) => ({
  message: (writer: Named, text: string, { id = newWamid(), timestamp = secondsNow() }: Details = {}) =>
    event(
      phoneNumberId,
      {
        contacts: [listed(writer)],
        messages: [{ ...fromMembers(writer), id, timestamp: String(timestamp), type: 'text', text: { body: text } }],
      },
      timestamp,
    ),

  /** The customer moved to another phone number, which always makes another user id; the report may leave out the ids. */
  numberChanged: (
    former: Named & { phone: string },
    now: Named & { phone: string },
    { namesIds = true, id = newWamid(), timestamp = secondsNow() }: Details & { namesIds?: boolean } = {},
  ) =>
    event(
      phoneNumberId,
      {
        messages: [
          {
            from: former.phone,
            id,
            timestamp: String(timestamp),
            type: 'system',
            system: {
              body: `User changed from ${former.phone} to ${now.phone}`,
              type: 'user_changed_number',
              wa_id: now.phone,
              ...(namesIds && { user_id: now.userId, previous_user_id: former.userId }),
            },
          },
        ],
      },
      timestamp,
    ),

  userIdChanged: (
    former: Named & { userId: string },
    userId: string,
    { id = newWamid(), timestamp = secondsNow() }: Details = {},
  ) =>
    event(
      phoneNumberId,
      {
        messages: [
          {
            ...(former.phone && { from: former.phone }),
            from_user_id: userId,
            id,
            timestamp: String(timestamp),
            type: 'system',
            system: {
              body: 'User changed the user id',
              type: 'user_changed_user_id',
              user_id: userId,
              previous_user_id: former.userId,
              ...(former.phone && { wa_id: former.phone }),
            },
          },
        ],
      },
      timestamp,
    ),

  /** The customer stops, or resumes, marketing messages at the provider. */
  preference: (customer: Named, value: 'stop' | 'resume', { timestamp = secondsNow() }: Details = {}) =>
    event(
      phoneNumberId,
      {
        contacts: [listed(customer)],
        user_preferences: [
          {
            ...(customer.phone && { wa_id: customer.phone }),
            ...(customer.userId && { user_id: customer.userId }),
            category: 'marketing_messages',
            value,
            timestamp,
            detail: 'User requested it',
          },
        ],
      },
      timestamp,
      'user_preferences',
    ),

  /** The business wrote from its phone app. */
  echo: (customer: Named, text: string, { id = newWamid(), timestamp = secondsNow() }: Details = {}) =>
    event(
      phoneNumberId,
      {
        message_echoes: [
          {
            ...(customer.phone && { to: customer.phone }),
            ...(customer.userId && { to_user_id: customer.userId }),
            id,
            timestamp: String(timestamp),
            type: 'text',
            text: { body: text },
          },
        ],
      },
      timestamp,
      'smb_message_echoes',
    ),

  status: (wamid: string, status: string, recipient: Named, { timestamp = secondsNow() }: Details = {}) =>
    event(
      phoneNumberId,
      {
        statuses: [
          {
            id: wamid,
            status,
            timestamp: String(timestamp),
            ...(recipient.phone && { recipient_id: recipient.phone }),
            ...(recipient.userId && { recipient_user_id: recipient.userId }),
          },
        ],
      },
      timestamp,
    ),
})

export type ProviderEvents = ReturnType<typeof eventsAt>
