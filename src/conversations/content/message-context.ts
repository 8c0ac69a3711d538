/** Where a message comes from beside its content; members that do not apply are absent. Objects are the provider's own. */
export type MessageContext = {
  referral?: object
  forwarded?: true
  frequentlyForwarded?: true
  referredProduct?: object
}
