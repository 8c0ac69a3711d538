const UNKNOWN_TYPE = 'application/octet-stream'
const TOKEN = "[!#$%&'*+.^_`|~0-9a-z-]{1,100}"
const MIME_TYPE = new RegExp(`^(${TOKEN}/${TOKEN})[ \\t]*(;|$)`)
const LONGEST_NAME = 240

/** Browsers render these inline without running anything in them. PDF is excluded on purpose. */
const SHOWN = new Set(['image/jpeg', 'image/png', 'image/webp', 'image/gif', 'video/mp4', 'video/3gpp'])

/** Returns the bare MIME type without parameters, or the unknown type for anything malformed. */
export const safeMimeType = (reported: string | null): string =>
  MIME_TYPE.exec(reported?.toLowerCase() ?? '')?.[1] ?? UNKNOWN_TYPE

/** Builds Content-Disposition (RFC 6266): inline for types without active content, attachment for all others. */
export function contentDisposition(mimeType: string, filename: string | null): string {
  const kind = SHOWN.has(mimeType) || mimeType.startsWith('audio/') ? 'inline' : 'attachment'
  const name = safeFilename(filename)
  if (name === '') return kind
  const ascii = name.replace(/[^ -~]/g, '_').replace(/["%\\]/g, '_')
  const plain = `${kind}; filename="${ascii}"`
  return ascii === name ? plain : `${plain}; filename*=UTF-8''${encodeName(name)}`
}

/** Strips folders, control characters, and bidi marks, which could hide the extension. */
function safeFilename(reported: string | null): string {
  const base = (reported ?? '').toWellFormed().split(/[/\\]/).at(-1) ?? ''
  const name = base.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, '').trim()
  return [...name].slice(0, LONGEST_NAME).join('').replace(/^\.+/, '')
}

const encodeName = (name: string): string =>
  encodeURIComponent(name).replace(/['()*]/g, (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`)
