/** Returns the key of a conversation's customer. Others have an event identity, or `mailto:` for mail recipients. */
export const conversationPerson = (conversationId: number): string => `conversation:${conversationId}`
