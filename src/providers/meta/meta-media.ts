import type { SenderAccess } from '../provider.ts'
import { isMediaId } from '../provider-api.ts'

/** Hosts from which Meta serves media; the credential goes nowhere else. */
const HOSTS = new Set(['graph.facebook.com', 'lookaside.fbsbx.com'])
const HOST_ENDINGS = ['.fbcdn.net']

/** The address itself when it is Meta's own, or where the sender's API is; else undefined. */
export function ownAddress(url: URL, access: SenderAccess): URL | undefined {
  const isConfigured = access.apiBaseUrl !== null && URL.parse(access.apiBaseUrl)?.origin === url.origin
  const isMeta = url.protocol === 'https:' && url.port === '' && isMetaHost(url.hostname)
  return isConfigured || isMeta ? url : undefined
}

const isMetaHost = (host: string): boolean => HOSTS.has(host) || HOST_ENDINGS.some((ending) => host.endsWith(ending))

/** The path of the description of a medium; undefined for an id that would name another path. */
export const mediaPath = (access: SenderAccess, mediaId: string): string | undefined =>
  isMediaId(mediaId) ? `${mediaId}?${new URLSearchParams({ phone_number_id: access.phoneNumberId })}` : undefined
