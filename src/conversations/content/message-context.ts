/** Inapplicable members are absent; objects are the provider's own. */
export type MessageContext = {
  referral?: object
  forwarded?: true
  frequentlyForwarded?: true
  referredProduct?: object
}
