import type { PROVIDER_NAMES } from './provider-names.ts'

export type ProviderName = (typeof PROVIDER_NAMES)[number]
export const DEFAULT_PROVIDER: ProviderName = 'meta'
