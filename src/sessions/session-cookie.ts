/** The secret of a session in a `Cookie` header: none, one, or more than one cookie of the name. */
export type SentCookie = { state: 'none' | 'several' } | { state: 'one'; secret: string }

export type SessionCookie = {
  read(header: string | undefined): SentCookie
  /** The `Set-Cookie` headers that give a browser the secret of a session. */
  give(secret: string, maxAgeSeconds: number): string[]
  /** The `Set-Cookie` headers that take it away. */
  take(): string[]
}

const SECRET = /^[A-Za-z0-9]{43}$/
const FORMER = { name: '__Secure-parley', path: '/console' }

/**
 * The cookie of the console (docs/console.md). A browser takes `__Host-` from this host alone and for all paths alone. On plain HTTP,
 * which is for local work, it is neither `Secure`, which Safari refuses there, nor prefixed: the browser may send another site's
 * cookie of the name, too, so that several belong to no session.
 */
export function createSessionCookie(baseUrl: string): SessionCookie {
  const isSecure = new URL(baseUrl).protocol === 'https:'
  const name = isSecure ? '__Host-parley' : 'parley'
  const toHeader = (named: string, value: string, maxAgeSeconds: number, path: string) =>
    `${named}=${value}; Max-Age=${maxAgeSeconds}; Path=${path}; ${isSecure ? 'Secure; ' : ''}HttpOnly; SameSite=Lax`
  /** Removes the cookie of earlier versions. */
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
