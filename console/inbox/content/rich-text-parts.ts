/** A piece of a message as WhatsApp formats it. */
export type Part =
  | { kind: 'text' | 'code' | 'block'; text: string }
  | { kind: 'link'; text: string; href: string }
  | { kind: Style; parts: Part[] }

type Style = 'bold' | 'italic' | 'struck'
const STYLES: Readonly<Record<string, Style>> = { '*': 'bold', _: 'italic', '~': 'struck' }

/** The limit of WhatsApp. A longer text is shown as it is: the search for ends of marks takes the square of the length. */
const MAX_FORMATTED = 4_096

/** A block of code, code, an address, or a mark with what is between it and its end on the same line. */
const MARKED =
  /```(?<block>[\s\S]+?)```|`(?<code>[^`\n]+)`|(?<link>\bhttps?:\/\/[^\s<>"]+)|(?<![\p{L}\p{N}*_~])(?<mark>[*_~])(?=\S)(?<inner>[^\n]*?\S)\k<mark>(?![\p{L}\p{N}])/giu

/** Punctuation that ends a sentence or a mark, and not an address. */
const LINK_END = /[.,;:!?'*_~\])}]+$/

/** The parts of a text. Together they have every character of it, but for the marks. */
export function partsOf(text: string, isWithin: readonly Style[] = []): Part[] {
  if (text.length > MAX_FORMATTED) return [{ kind: 'text', text }]
  const parts: Part[] = []
  let plainFrom = 0
  const pattern = new RegExp(MARKED)
  for (let found = pattern.exec(text); found !== null; found = pattern.exec(text)) {
    const part = partOf(found.groups ?? {}, isWithin)
    if (part === undefined) {
      // The mark is a character like others; what follows it may be marked.
      pattern.lastIndex = found.index + 1
      continue
    }
    const end = part.kind === 'link' ? found.index + part.text.length : pattern.lastIndex
    if (found.index > plainFrom) parts.push({ kind: 'text', text: text.slice(plainFrom, found.index) })
    parts.push(part)
    plainFrom = end
    pattern.lastIndex = end
  }
  if (plainFrom < text.length) parts.push({ kind: 'text', text: text.slice(plainFrom) })
  return parts
}

function partOf(
  { block, code, link, mark = '', inner = '' }: Record<string, string | undefined>,
  isWithin: readonly Style[],
): Part | undefined {
  if (block !== undefined) return { kind: 'block', text: block.replace(/^\n|\n$/g, '') }
  if (code !== undefined) return { kind: 'code', text: code }
  if (link !== undefined) return linkOf(link)
  const style = STYLES[mark]
  if (style === undefined || isWithin.includes(style)) return undefined
  return { kind: style, parts: partsOf(inner, [...isWithin, style]) }
}

function linkOf(found: string): Part | undefined {
  const bare = found.replace(LINK_END, '')
  // An address may have brackets of its own.
  const text = bare.includes('(') && found[bare.length] === ')' ? `${bare})` : bare
  const url = URL.parse(text)
  return url === null ? undefined : { kind: 'link', text, href: url.href }
}
