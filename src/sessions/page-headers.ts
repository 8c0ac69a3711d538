/** The headers of every file of the console: it runs its own scripts and styles, and talks to this service only. */
export function pageHeaders(sandboxUrl: string | undefined): Record<string, string> {
  const frames = sandboxUrl === undefined ? "'self'" : `'self' ${new URL(sandboxUrl).origin}`
  return {
    'content-security-policy': [
      "default-src 'none'",
      "script-src 'self'",
      "style-src 'self'",
      "img-src 'self' data: blob:",
      "media-src 'self' blob:",
      "font-src 'self'",
      "connect-src 'self'",
      `frame-src ${frames}`,
      "form-action 'none'",
      "base-uri 'none'",
      "frame-ancestors 'none'",
      "require-trusted-types-for 'script'",
    ].join('; '),
    'x-content-type-options': 'nosniff',
    'referrer-policy': 'no-referrer',
    'cross-origin-opener-policy': 'same-origin',
    'cross-origin-resource-policy': 'same-origin',
  }
}
