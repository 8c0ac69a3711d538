const UNKNOWN_TYPE = 'application/octet-stream'
const TOKEN = "[!#$%&'*+.^_`|~0-9a-z-]{1,100}"
const MIME_TYPE = new RegExp(`^(${TOKEN}/${TOKEN})[ \\t]*(;|$)`)
const LONGEST_NAME = 240

/** Types that a browser may show inline: it draws or plays them and runs nothing in them. PDF is not among them. */
const SHOWN = new Set(['image/jpeg', 'image/png', 'image/webp', 'image/gif', 'video/mp4', 'video/3gpp'])

/** The bare type of what a provider calls the MIME type, without parameters; anything else is of unknown type. */
export const safeMimeType = (reported: string | null): string =>
  MIME_TYPE.exec(reported?.toLowerCase() ?? '')?.[1] ?? UNKNOWN_TYPE

/** Content-Disposition (RFC 6266): only what cannot run is shown in place, all else is saved. */
export function contentDisposition(mimeType: string, filename: string | null): string {
  const kind = SHOWN.has(mimeType) || mimeType.startsWith('audio/') ? 'inline' : 'attachment'
  const name = safeFilename(filename)
  if (name === '') return kind
  const ascii = name.replace(/[^ -~]/g, '_').replace(/["%\\]/g, '_')
  const plain = `${kind}; filename="${ascii}"`
  return ascii === name ? plain : `${plain}; filename*=UTF-8''${encodeName(name)}`
}

/** No folders, no control characters, nothing that turns the reading direction and so hides the ending. */
function safeFilename(reported: string | null): string {
  const base = (reported ?? '').toWellFormed().split(/[/\\]/).at(-1) ?? ''
  const name = base.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, '').trim()
  return [...name].slice(0, LONGEST_NAME).join('').replace(/^\.+/, '')
}

const encodeName = (name: string): string =>
  encodeURIComponent(name).replace(/['()*]/g, (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`)
