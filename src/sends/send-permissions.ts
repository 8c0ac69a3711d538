/** The permissions of which a send needs one. */
export const SEND_PERMISSIONS = ['WhatsApp', 'Transactional'] as const
/** The same of a reply in a conversation. */
export const REPLY_PERMISSIONS = ['WhatsApp'] as const
