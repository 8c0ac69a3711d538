// Generated from the folders of adapters by `npm run generate`. Do not edit.

/** The names of the transports, as numbers are connected and envelopes name them. */
export const PROVIDER_NAMES = ['dialog360', 'gupshup', 'meta'] as const
