import { Type } from 'typebox'
import type { AddressRule } from '../http/server/request-head.ts'
import type { Clock } from '../platform/clock.ts'
import { gone, notFound } from '../platform/errors.ts'
import type { Config } from '../platform/settings/config.ts'
import { parseJsonText } from '../platform/text/json-text.ts'

type RuleDeps = { clock: Clock; config: Pick<Config, 'legacyRemovalDate' | 'legacyHost'> }

const REPLACEMENTS: [path: string, method: string | undefined, replacement: string][] = [
  ['/api/transactionals/whatsapp/send', undefined, '/public/v1/templates/whatsapp/send'],
  ['/api/transactionals/whatsapp/templates', undefined, '/public/v1/templates/whatsapp'],
  ['/api/transactionals/whatsapp', undefined, '/public/v1/templates/whatsapp'],
  ['/api/transactionals', 'GET', '/public/v1/templates/email'],
  ['/api/transactionals', undefined, '/public/v1/templates/email/send'],
  ['/api/contacts', undefined, '/public/v1/contacts'],
  ['/api', undefined, '/public/v1/'],
]

/** Returns the replacement path, or `/public/v1/` if there is no single one. */
export function replacementOf(method: string, path: string): string {
  const found = REPLACEMENTS.find(
    ([start, only]) =>
      (path === start || path.startsWith(`${start}/`)) &&
      (only === undefined || only === method || (only === 'GET' && method === 'HEAD')),
  )
  return found?.[2] ?? '/public/v1/'
}

/**
 * With LEGACY_HOST, that host serves only `/api/*`, all others only `/public/*` (decisions: Legacy). After the removal
 * date, `/api/*` returns 410.
 */
export function createLegacyRule({ clock, config }: RuleDeps): AddressRule {
  const { legacyHost, legacyRemovalDate } = config
  const refuse: AddressRule['refuse'] = ({ method, path, host }) => {
    const isLegacy = path.startsWith('/api/')
    if (legacyHost !== undefined && isLegacy !== (host === legacyHost)) return notFound()
    if (!isLegacy || clock.now() < legacyRemovalDate) return undefined
    const replacement = replacementOf(method, path.replace(/\/+$/, ''))
    const date = legacyRemovalDate.toISOString().slice(0, 10)
    return gone(`This address was removed on ${date}: use ${replacement}`, replacement, {
      ...successorHeaders(legacyRemovalDate, replacement),
    })
  }
  return { prefixes: legacyHost === undefined ? ['/api/'] : ['/api/', '/public/'], refuse }
}

const DEPRECATED_AT = new Date('2025-11-01T00:00:00Z')

/** Returns deprecation headers (RFC 9745, RFC 8594, RFC 5829). */
export const successorHeaders = (removalDate: Date, replacement: string): Record<string, string> => ({
  deprecation: `@${DEPRECATED_AT.getTime() / 1000}`,
  sunset: removalDate.toUTCString(),
  link: `<${replacement}>; rel="successor-version"`,
})

export const Warning = Type.Object(
  {
    message: Type.String({ description: 'An explanation.' }),
    deprecationDate: Type.String({ description: 'Removal date of this endpoint.' }),
    migrateTo: Type.String({ description: 'Endpoint to use instead.' }),
    docsUrl: Type.String({ description: 'URL of the API reference.' }),
  },
  {
    title: 'DeprecationWarning',
    example: {
      message: 'This address is deprecated and ends on 2026-06-01: use /public/v1/templates/email/send',
      deprecationDate: '2026-06-01',
      migrateTo: '/public/v1/templates/email/send',
      docsUrl: 'https://parley.example.com/docs',
    },
  },
)

type Ending = { removalDate: Date; migrateTo: string; docsUrl: string }

/** Only objects get a `warning`. */
export function withWarning(payload: unknown, { removalDate, migrateTo, docsUrl }: Ending): unknown {
  if (typeof payload !== 'string' || !payload.startsWith('{')) return payload
  const deprecationDate = removalDate.toISOString().slice(0, 10)
  const message = `This address is deprecated and ends on ${deprecationDate}: use ${migrateTo}`
  return JSON.stringify({
    ...Object(parseJsonText(payload)),
    warning: { message, deprecationDate, migrateTo, docsUrl },
  })
}
