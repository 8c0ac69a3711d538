/** A WhatsApp Business Account. */
export type Account = { id: string; name: string }

export type PhoneNumber = { id: string; displayPhoneNumber: string; verifiedName: string; wabaAccountId: string }
