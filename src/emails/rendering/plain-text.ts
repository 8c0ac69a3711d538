import { compile } from 'html-to-text'

/** Characters of HTML that are read: the worst of them take about 0.2 s. */
const MAX_INPUT = 100_000
/** Levels of nesting and children of one element that are converted; the rest is shown as `…`. */
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

/**
 * The text alternative of HTML, for readers that show no HTML; null when the HTML has no text. Links carry their
 * address. Text beyond the first 100,000 characters of the HTML is left out.
 */
export const plainTextOf = (html: string): string | null =>
  convert(html.slice(0, MAX_INPUT).toWellFormed()).trim() || null
