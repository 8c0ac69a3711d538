import { type Token, Tokenizer, TokenizerMode } from 'parse5'
import type { Tracking } from './tracking.ts'

/** Further links stay untracked. */
export const MAX_TRACKED_LINKS = 1_000
const MAX_TARGET_LENGTH = 8_000

export type Tracked = { links: boolean; pixel: boolean; isOwn: (url: string) => boolean }

type LinkPosition = readonly [start: number, end: number, link: number]

/**
 * Finds http(s) links of `a` and `area`, and a place for the pixel, in linear time for any HTML. Uses a browser
 * tokenizer's source positions and never serializes. Skips `data-parley-track="off"`, comments (Outlook conditionals),
 * scripts, styles, foreign elements and tracked links.
 */
export function findTracking(html: string, { links: hasLinks, pixel: hasPixel, isOwn }: Tracked): Tracking {
  const { links, sources, bodyEnd } = readHtml(html)
  const positions: LinkPosition[] = []
  const numbers = new Map<string, number>()

  for (const link of hasLinks ? links : []) {
    const url = toWebAddress(link.value)
    const place = url && valuePlace(html, link)
    if (url === undefined || place === undefined || isOwn(url.href)) continue
    const target = toTarget(url, link.value.trim())
    const number = numbers.get(target) ?? numbers.size + 1
    if (number > MAX_TRACKED_LINKS) continue
    numbers.set(target, number)
    positions.push([place.start, place.end, number])
  }
  if (hasPixel && !sources.some((source) => isOwn(source.trim()))) positions.push([bodyEnd, bodyEnd, 0])
  positions.sort(([one], [other]) => one - other)
  return { replacements: toReplacements(positions), targets: [...numbers.keys()] }
}

function toReplacements(positions: readonly LinkPosition[]): string {
  let at = 0
  const numbers = positions.flatMap(([start, end, link]) => {
    const replaced = [start - at, end - start, link]
    at = end
    return replaced
  })
  return numbers.join(' ')
}

/** Returns undefined unless an http(s) URL. */
function toWebAddress(value: string): URL | undefined {
  const url = URL.parse(value)
  if (url === null || !['http:', 'https:'].includes(url.protocol)) return undefined
  return url.href.length <= MAX_TARGET_LENGTH ? url : undefined
}

/** Read the same by every browser, and safe in a header. */
const PLAIN_ADDRESS = /^https?:\/\/[a-z0-9][!-[\]-~]*$/i

/** Keeps plain URLs byte for byte, else normalizes. */
const toTarget = ({ href }: URL, written: string): string => (PLAIN_ADDRESS.test(written) ? written : href)

type Attribute = { value: string; start: number; end: number }

function valuePlace(html: string, { start, end }: Attribute): { start: number; end: number } | undefined {
  const head = /^[^=]*=[\t\n\f\r ]*/.exec(html.slice(start, end))?.[0]
  if (head === undefined) return undefined
  const from = start + head.length
  const isQuoted = html[from] === '"' || html[from] === "'"
  return isQuoted ? { start: from + 1, end: end - 1 } : { start: from, end }
}

type Read = { links: Attribute[]; sources: string[]; bodyEnd: number }

const LINKING = new Set(['a', 'area'])
const FOREIGN = new Set(['svg', 'math'])

const TEXT_MODES = new Map<string, (typeof TokenizerMode)[keyof typeof TokenizerMode]>([
  ['title', TokenizerMode.RCDATA],
  ['textarea', TokenizerMode.RCDATA],
  ['style', TokenizerMode.RAWTEXT],
  ['xmp', TokenizerMode.RAWTEXT],
  ['iframe', TokenizerMode.RAWTEXT],
  ['noembed', TokenizerMode.RAWTEXT],
  ['noframes', TokenizerMode.RAWTEXT],
  ['script', TokenizerMode.SCRIPT_DATA],
  ['plaintext', TokenizerMode.PLAINTEXT],
])

/** End an unclosed svg or math (HTML: parsing foreign content). */
const BREAKOUT = new Set(
  'b big blockquote body br center code dd div dl dt em embed h1 h2 h3 h4 h5 h6 head hr i img li listing menu meta nobr ol p pre ruby s small span strong strike sub sup table tt u ul var'.split(
    ' ',
  ),
)

function readHtml(html: string): Read {
  const read: Read = { links: [], sources: [], bodyEnd: html.length }
  const end = createEnd(html)
  let foreignDepth = 0

  const tokenizer = new Tokenizer(
    { sourceCodeLocationInfo: true },
    {
      onStartTag: (token) => {
        end.passed(token)
        if (foreignDepth > 0 && BREAKOUT.has(token.tagName)) foreignDepth = 0
        if (FOREIGN.has(token.tagName) && !token.selfClosing) foreignDepth += 1
        tokenizer.inForeignNode = foreignDepth > 0
        if (foreignDepth > 0) return
        const mode = TEXT_MODES.get(token.tagName)
        if (mode !== undefined) {
          tokenizer.state = mode
          end.textBegins(token)
        }
        if (LINKING.has(token.tagName) && !isUntracked(token)) read.links.push(...attributesOf(token, 'href'))
        if (token.tagName === 'img') read.sources.push(...attributesOf(token, 'src').map(({ value }) => value))
      },
      onEndTag: (token) => {
        if (FOREIGN.has(token.tagName)) foreignDepth = Math.max(foreignDepth - 1, 0)
        tokenizer.inForeignNode = foreignDepth > 0
        end.closed(token)
      },
      onComment: (token) => end.commented(token),
      onDoctype: (token) => end.passed(token),
      onEof: () => {},
      onCharacter: (token) => end.passed(token),
      onNullCharacter: (token) => end.passed(token),
      onWhitespaceCharacter: (token) => end.passed(token),
      onParseError: ({ code }) => end.failed(code),
    },
  )
  tokenizer.write(html, true)
  return { ...read, bodyEnd: end.place() }
}

type Located = { location: Token.Location | null }

/** Before `</body>`, else `</html>` or the end, but before an unfinished comment or tag, as in `<!-- x`. */
function createEnd(html: string) {
  const ends = new Map<string, number>()
  let passedEnd = 0
  let textStart: number | undefined
  let unfinished: number | undefined
  let comment: { start: number; end: number } | undefined

  const endOf = ({ location }: Located): number => location?.endOffset ?? passedEnd
  const startOf = ({ location }: Located): number => location?.startOffset ?? passedEnd
  return {
    passed: (token: Located) => {
      passedEnd = endOf(token)
    },
    textBegins: (token: Located) => {
      textStart = startOf(token)
    },
    closed: (token: Located & { tagName: string }) => {
      passedEnd = endOf(token)
      textStart = undefined
      ends.set(token.tagName, startOf(token))
    },
    commented: (token: Located) => {
      comment = { start: startOf(token), end: endOf(token) }
      passedEnd = comment.end
    },
    failed: (code: string) => {
      if (code === 'eof-before-tag-name') unfinished = html.lastIndexOf('<')
      else if (code === 'eof-in-comment') unfinished = html.length
      else if (code.startsWith('eof-in-')) unfinished = passedEnd
    },
    place: (): number => {
      const isOpenComment = comment !== undefined && comment.end >= html.length
      const isUnfinishedComment = isOpenComment && (unfinished === html.length || !html.endsWith('>'))
      const sourceEnd = textStart ?? (isUnfinishedComment ? comment?.start : unfinished) ?? html.length
      return ends.get('body') ?? ends.get('html') ?? sourceEnd
    },
  }
}

const isUntracked = ({ attrs }: Token.TagToken): boolean =>
  attrs.some(({ name, value }) => name === 'data-parley-track' && value.trim().toLowerCase() === 'off')

function attributesOf(token: Token.TagToken, name: string): Attribute[] {
  const attribute = token.attrs.find((one) => one.name === name)
  const place = token.location?.attrs?.[name]
  if (attribute === undefined || place === undefined) return []
  return [{ value: attribute.value, start: place.startOffset, end: place.endOffset }]
}
