import { Liquid, LiquidError, type Template } from 'liquidjs'
import { LRUCache } from 'lru-cache'
import { type FieldFault, validationError } from '../../errors.ts'

/** Limits of one rendering, enough for every mail. Its processor time is bounded where it runs, in `mail-worker.ts`. */
const MAX_TEMPLATE_LENGTH = 500_000
const MEMORY_LIMIT = 5_000_000
export const MAX_RENDERED_LENGTH = 2_000_000
const MAX_SUBJECT_LENGTH = 500

export type TemplateParts = { subject: string; html: string; text: string | null }
export type Values = Readonly<Record<string, string>>

const OPTIONS = {
  ownPropertyOnly: true,
  parseLimit: MAX_TEMPLATE_LENGTH,
  memoryLimit: MEMORY_LIMIT,
  strictFilters: true,
  // Templates that others could name: none, and no file of this machine.
  templates: {},
}

/** In HTML, values are escaped; in subject and text they are inserted unchanged. */
const engines = { html: new Liquid({ ...OPTIONS, outputEscape: 'escape' }), plain: new Liquid(OPTIONS) }
type Engine = keyof typeof engines

const parsed = new LRUCache<string, Template[]>({ maxSize: 20_000_000, sizeCalculation: (_, source) => source.length })

function parse(engine: Engine, source: string): Template[] {
  const key = `${engine}:${source}`
  const cached = parsed.get(key)
  if (cached) return cached
  const template = engines[engine].parse(source)
  parsed.set(key, template)
  return template
}

export type PartName = keyof TemplateParts

/**
 * The variables that a part of a template uses, in the order of their first appearance, and its faults: that it is no
 * Liquid, or asks for a member of a variable, since values are text and have none.
 */
export function examinePart({ path, source }: { path: PartName; source: string }): {
  variables: string[]
  faults: FieldFault[]
} {
  const engine: Engine = path === 'html' ? 'html' : 'plain'
  try {
    const template = parse(engine, source)
    // Unknown filters and other templates are found only when it is filled.
    engines[engine].renderSync(template, {})
    const unfillable = engines[engine].globalVariableSegmentsSync(template).find((path) => !isFillable(path))
    const message = `asks for \`${unfillable?.join('.')}\`, which no value can fill: values are text without members`
    return {
      variables: engines[engine].globalVariablesSync(template),
      faults: unfillable ? [{ path, message }] : [],
    }
  } catch (error) {
    if (!(error instanceof Error)) throw error
    return { variables: [], faults: [{ path, message: `is no template: ${error.message}` }] }
  }
}

/** A variable itself, and what text has in Liquid: its size and its characters. */
const isFillable = ([, member, ...more]: readonly unknown[]): boolean =>
  member === undefined || (more.length === 0 && (member === 'size' || member === 'length' || Number.isInteger(member)))

/**
 * Fills a template. Values are escaped in HTML; in the subject line ends and control characters become blanks, so that
 * none can end the header. A variable without a value is empty. 422 when it would take too much time or room.
 */
export function renderTemplate(parts: TemplateParts, values: Values): TemplateParts {
  return {
    subject: toLine(render('subject', 'plain', parts.subject, values)),
    html: render('html', 'html', parts.html, values),
    text: parts.text === null ? null : render('text', 'plain', parts.text, values),
  }
}

function render(path: string, engine: Engine, source: string, values: Values): string {
  try {
    const rendered = String(engines[engine].renderSync(parse(engine, source), { ...values }))
    if (rendered.length <= MAX_RENDERED_LENGTH) return rendered
  } catch (error) {
    if (!LiquidError.is(error)) throw error
    throw validationError([{ path: 'customFields', message: `cannot fill the ${path}: ${error.message}` }])
  }
  throw validationError([{ path: 'customFields', message: `make the ${path} too long` }])
}

const toLine = (text: string): string =>
  text
    .replaceAll(/[\s\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ')
    .trim()
    .slice(0, MAX_SUBJECT_LENGTH)
    .toWellFormed()
