type SentCookie = { state: 'none' | 'several' } | { state: 'one'; secret: string }

export type SessionCookie = {
  read(header: string | undefined): SentCookie
  give(secret: string, maxAgeSeconds: number): string[]
  take(): string[]
}

const SECRET = /^[A-Za-z0-9]{43}$/
const FORMER = { name: '__Secure-parley', path: '/console' }

/**
 * Creates the console's cookie (docs/console.md). Browsers accept `__Host-` only from this host, for all paths. On plain HTTP
 * (local), where Safari refuses `Secure`, another site can set the cookie too: several must count as none.
 */
export function createSessionCookie(baseUrl: string): SessionCookie {
  const isSecure = new URL(baseUrl).protocol === 'https:'
  const name = isSecure ? '__Host-parley' : 'parley'
  const toHeader = (named: string, value: string, maxAgeSeconds: number, path: string) =>
    `${named}=${value}; Max-Age=${maxAgeSeconds}; Path=${path}; ${isSecure ? 'Secure; ' : ''}HttpOnly; SameSite=Lax`
  const former = toHeader(isSecure ? FORMER.name : name, '', 0, FORMER.path)
  return {
    read: (header = '') => {
      const prefix = `${name}=`
      const sent = header.split(';').flatMap((pair) => {
        const text = pair.trim()
        return text.startsWith(prefix) ? [text.slice(prefix.length)] : []
      })
      if (sent.length > 1) return { state: 'several' }
      const [secret] = sent
      return secret !== undefined && SECRET.test(secret) ? { state: 'one', secret } : { state: 'none' }
    },
    give: (secret, maxAgeSeconds) => [toHeader(name, secret, maxAgeSeconds, '/'), former],
    take: () => [toHeader(name, '', 0, '/'), former],
  }
}
