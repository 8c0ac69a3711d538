/** Either suffices. */
export const SEND_PERMISSIONS = ['WhatsApp', 'Transactional'] as const
export const REPLY_PERMISSIONS = ['WhatsApp'] as const
