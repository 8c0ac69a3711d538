/**
 * How an envelope names the customer of a conversation, whatever identities the customer gets later. It names anyone else by
 * the identities of the event, and the recipient of a mail by `mailto:`.
 */
export const conversationPerson = (conversationId: number): string => `conversation:${conversationId}`
