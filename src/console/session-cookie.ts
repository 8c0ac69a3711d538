export type SessionCookie = {
  /** The secret of the session in a `Cookie` header; undefined when there is none. */
  read(header: string | undefined): string | undefined
  /** The `Set-Cookie` header that gives a browser the secret of a session. */
  give(secret: string, maxAgeSeconds: number): string
  /** The `Set-Cookie` header that takes it away. */
  take(): string
}

const SECRET = /^[A-Za-z0-9]{43}$/

/**
 * The cookie of the console (docs/console.md). It is sent to paths below `/console` only, which nothing but the service
 * serves. On plain HTTP, which is for local work, it is not `Secure`: Safari refuses such a cookie there.
 */
export function createSessionCookie(baseUrl: string): SessionCookie {
  const isSecure = new URL(baseUrl).protocol === 'https:'
  const name = isSecure ? '__Secure-parley' : 'parley'
  const attributes = `${isSecure ? 'Secure; ' : ''}HttpOnly; SameSite=Strict; Path=/console`
  return {
    read: (header = '') => {
      const prefix = `${name}=`
      const [first] = header.split(';').flatMap((pair) => {
        const text = pair.trim()
        return text.startsWith(prefix) ? [text.slice(prefix.length)] : []
      })
      return first !== undefined && SECRET.test(first) ? first : undefined
    },
    give: (secret, maxAgeSeconds) => `${name}=${secret}; Max-Age=${maxAgeSeconds}; ${attributes}`,
    take: () => `${name}=; Max-Age=0; ${attributes}`,
  }
}
