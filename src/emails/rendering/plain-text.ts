import { compile } from 'html-to-text'

/** The worst HTML this long takes about 0.2 s. */
const MAX_INPUT = 100_000
/** Deeper or further elements become `…`. */
const MAX_DEPTH = 100
const MAX_CHILDREN = 10_000

const onLineOfItsOwn = { leadingLineBreaks: 1, trailingLineBreaks: 1 }
const cells = ['td', 'th'].map((selector) => ({ selector, format: 'block', options: onLineOfItsOwn }))
const headings = ['h1', 'h2', 'h3', 'h4', 'h5', 'h6'].map((selector) => ({ selector, options: { uppercase: false } }))

const convert = compile({
  wordwrap: false,
  limits: { maxDepth: MAX_DEPTH, maxChildNodes: MAX_CHILDREN, ellipsis: '…' },
  selectors: [
    { selector: 'a', options: { hideLinkHrefIfSameAsText: true, ignoreHref: false } },
    { selector: 'img', format: 'skip' },
    ...headings,
    ...cells,
  ],
})

/** Converts HTML to its text alternative, with link URLs; null if empty. Ignores HTML beyond 100,000 characters. */
export const plainTextOf = (html: string): string | null =>
  convert(html.slice(0, MAX_INPUT).toWellFormed()).trim() || null
