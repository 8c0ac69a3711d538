import { text } from '../texts/text.ts'

/** The screen that is open, and how many conversations are unread, in the title and the icon of the window. */
let screen = ''
let unread = 0

/** Names the window after its screen. */
export function nameWindow(title: string): void {
  screen = title
  show()
}

/** Shows how many conversations are unread. */
export function markUnread(conversations: number): void {
  if (unread === conversations) return
  unread = conversations
  show()
  showIcon()
}

function show(): void {
  const name = screen === '' ? text.product : `${screen} · ${text.product}`
  document.title = unread === 0 ? name : `(${text.inbox.unreadShort(unread)}) ${name}`
}

function showIcon(): void {
  const link = document.querySelector<HTMLLinkElement>('link[rel="icon"]')
  if (link === null) return
  link.dataset.plain ??= link.href
  link.href = unread === 0 ? link.dataset.plain : iconOf(text.inbox.unreadShort(unread))
}

/** The logo with the number on a red disc, which is visible on light and dark tabs. */
function iconOf(label: string): string {
  const width = label.length > 2 ? 28 : 22
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32">
    <rect width="32" height="32" rx="8" fill="#0d6e66"/>
    <path d="M6 18V8.5a3 3 0 0 1 3-3h5a4.5 4.5 0 0 1 0 9h-4Z" fill="none" stroke="#fff" stroke-width="2.4"/>
    <rect x="${32 - width}" y="12" width="${width}" height="20" rx="10" fill="#b3261e"/>
    <text x="${32 - width / 2}" y="27.5" fill="#fff" font-family="sans-serif" font-size="15" font-weight="700"
      text-anchor="middle">${label}</text>
  </svg>`
  return `data:image/svg+xml,${encodeURIComponent(svg)}`
}
