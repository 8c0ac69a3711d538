/** A WhatsApp Business Account. */
export type Account = {
  id: string
  name: string
  isSubscribed?: boolean
  /** It has signed the terms for marketing messages. */
  marketingTerms?: boolean
  /** It may write outside the window without a template. */
  directSend?: boolean
}

/** An address for the events of one number, and the headers that they carry there. */
export type NumberWebhook = { url: string; headers: Record<string, string> }

/** The ids under which the provider knows a customer, where they differ from the requested number. */
export type CustomerIds = { waId?: string | undefined; userId?: string | undefined }

export type PhoneNumber = {
  id: string
  displayPhoneNumber: string
  verifiedName: string
  wabaAccountId: string
  /** Gupshup's app that holds the number: its events then come as Gupshup writes them. */
  app?: { id: string; name: string } | undefined
  /** Set through the provider's API; without it events go to the address of the sandbox. */
  webhook?: NumberWebhook
  /** Also used in the phone app. */
  isOnBizApp?: boolean | undefined
  /** Members of the business profile that were set. */
  profile?: Record<string, unknown>
  /** The wa_ids of blocked customers. */
  blocked?: Set<string>
  /** By requested number. */
  customers?: Map<string, CustomerIds>
}
