/** A WhatsApp Business Account. */
export type Account = { id: string; name: string }

export type PhoneNumber = {
  id: string
  displayPhoneNumber: string
  verifiedName: string
  wabaAccountId: string
  /** Gupshup's app that holds the number: its events then come as Gupshup writes them. */
  app?: { id: string; name: string } | undefined
  /** Also used in the phone app. */
  isOnBizApp?: boolean | undefined
}
