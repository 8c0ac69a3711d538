import type { StaticHeader } from './static-header.ts'

export const sealHeaders = (headers: readonly StaticHeader[], encrypt: (clear: string) => string): string | null =>
  headers.length === 0 ? null : encrypt(JSON.stringify(headers))

export function openHeaders(sealed: string | null, decrypt: (sealed: string) => string): StaticHeader[] {
  return sealed === null ? [] : JSON.parse(decrypt(sealed))
}
