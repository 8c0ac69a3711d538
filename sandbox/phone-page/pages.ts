import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { type Answer, jsonAnswer } from '../answer.ts'
import { ROOT } from '../root.ts'

/** The built console, of which the phone is a page of its own. */
const FOLDER = fileURLToPath(new URL('console/dist', ROOT))
const TYPES: Record<string, string> = {
  html: 'text/html; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  svg: 'image/svg+xml',
}
const PAGE = /^\/(phone\.html|icon\.svg|assets\/[\w.-]+\.(?:js|css))(?:\?.*)?$/

export const isPhonePage = (url: string): boolean => PAGE.test(url)

/** `/phone.html` and its files. Only the service that this sandbox plays for may frame it. */
export function answerPhonePage(url: string, webhookUrl: string | undefined): Answer {
  const name = PAGE.exec(url)?.[1] ?? ''
  try {
    const body = readFileSync(`${FOLDER}/${name}`)
    const contentType = TYPES[name.slice(name.lastIndexOf('.') + 1)] ?? 'application/octet-stream'
    return { status: 200, contentType, body, headers: headersOf(webhookUrl) }
  } catch {
    return jsonAnswer({ error: { message: 'The console is not built: run "node scripts/setup.mjs"' } }, 404)
  }
}

function headersOf(webhookUrl: string | undefined): Record<string, string> {
  return {
    'content-security-policy': [
      "default-src 'none'",
      "script-src 'self'",
      "style-src 'self'",
      "img-src 'self' data:",
      "connect-src 'self'",
      "form-action 'none'",
      "base-uri 'none'",
      `frame-ancestors ${framersOf(webhookUrl).join(' ') || "'none'"}`,
      "require-trusted-types-for 'script'",
    ].join('; '),
    'cache-control': 'no-cache',
    'referrer-policy': 'no-referrer',
    'x-content-type-options': 'nosniff',
  }
}

/** The service under both names of this machine. */
function framersOf(webhookUrl: string | undefined): string[] {
  const service = webhookUrl === undefined ? null : URL.parse(webhookUrl)
  if (service === null) return []
  const { protocol, port, origin } = service
  const names = ['127.0.0.1', 'localhost'].map((name) => `${protocol}//${name}${port && `:${port}`}`)
  return [...new Set([origin, ...names])]
}
