/** A WhatsApp Business Account. */
export type Account = { id: string; name: string; isSubscribed?: boolean }

export type PhoneNumber = {
  id: string
  displayPhoneNumber: string
  verifiedName: string
  wabaAccountId: string
  /** Gupshup's app that holds the number: its events then come as Gupshup writes them. */
  app?: { id: string; name: string } | undefined
  /** Also used in the phone app. */
  isOnBizApp?: boolean | undefined
  /** Members of the business profile that were set. */
  profile?: Record<string, unknown>
  /** The wa_ids of blocked customers. */
  blocked?: Set<string>
}
