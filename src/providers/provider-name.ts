/** The names of the transports, as numbers are connected and envelopes name them. A new transport adds its name here. */
export const PROVIDER_NAMES = ['meta', 'dialog360', 'gupshup'] as const
export type ProviderName = (typeof PROVIDER_NAMES)[number]
/** Of the sandbox's number and of test deliveries. */
export const DEFAULT_PROVIDER: ProviderName = 'meta'
