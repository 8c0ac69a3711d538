import type { PROVIDER_NAMES } from './provider-names.ts'

export type ProviderName = (typeof PROVIDER_NAMES)[number]
/** Of the sandbox's number, of test deliveries and of examples. */
export const DEFAULT_PROVIDER: ProviderName = 'meta'
