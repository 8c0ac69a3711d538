import { Liquid, LiquidError, type Template } from 'liquidjs'
import { createCache } from '../../platform/cache.ts'
import { type FieldFault, validationError } from '../../platform/errors.ts'
import { checkValues, type Values } from './template-values.ts'
import { readUse, UNSUBSCRIBE_URL, type VariableUse } from './template-variables.ts'

/** Per rendering; `mail-worker.ts` limits CPU time. */
const MAX_TEMPLATE_LENGTH = 500_000
const MEMORY_LIMIT = 5_000_000
const MAX_RENDERED_LENGTH = 2_000_000
const MAX_SUBJECT_LENGTH = 500

export type TemplateParts = { subject: string; html: string; text: string | null }

const OPTIONS = {
  ownPropertyOnly: true,
  parseLimit: MAX_TEMPLATE_LENGTH,
  memoryLimit: MEMORY_LIMIT,
  strictFilters: true,
  // Must stay empty: no includes, and no access to files.
  templates: {},
}

const engines = { html: new Liquid({ ...OPTIONS, outputEscape: 'escape' }), plain: new Liquid(OPTIONS) }
type Engine = keyof typeof engines

const parsed = createCache<string, Template[]>({
  name: 'liquid_templates',
  max: 20_000_000,
  sizeOf: (_, source) => source.length,
})

const parse = (engine: Engine, source: string): Template[] =>
  parsed.get(`${engine}:${source}`, () => engines[engine].parse(source))

export type PartName = keyof TemplateParts

/** Replaced by the unsubscribe link when the mail is sent. */
const UNSUBSCRIBE_PLACEHOLDER = `{{ ${UNSUBSCRIBE_URL} }}`

type ExaminedPart = { use: VariableUse; faults: FieldFault[] }

/** Returns a part's variable use and faults: invalid Liquid, or references no value can fill. */
export function examinePart({ path, source }: { path: PartName; source: string }): ExaminedPart {
  try {
    const use = useOf(source)
    // Unknown filters and includes are found only by rendering.
    engines[engineOf(path)].renderSync(parse(engineOf(path), source), {})
    return { use, faults: useFaults(path, use) }
  } catch (error) {
    if (!(error instanceof Error)) throw error
    const use = { names: [], texts: [], lists: {}, unfillable: undefined }
    return { use, faults: [{ path, message: `is no template: ${error.message}` }] }
  }
}

const engineOf = (path: PartName): Engine => (path === 'html' ? 'html' : 'plain')

/** Parsed as plain text, so that outputs have only their own filters. */
function useOf(source: string): VariableUse {
  const template = parse('plain', source)
  const { variables, globals } = engines.plain.analyzeSync(template, { partials: false })
  return readUse(template, variables, globals)
}

function useFaults(path: PartName, { names, texts, lists, unfillable }: VariableUse): FieldFault[] {
  const message = `asks for \`${unfillable}\`, which no value can fill: values are texts, and lists of items with members`
  const both = texts.find((name) => name in lists)
  return [
    ...(unfillable === undefined ? [] : [{ path, message }]),
    ...(both === undefined ? [] : [{ path, message: `uses \`${both}\` as a text and as a list` }]),
    ...(path === 'subject' && names.includes(UNSUBSCRIBE_URL)
      ? [{ path, message: `must not contain \`${UNSUBSCRIBE_URL}\`` }]
      : []),
  ]
}

/**
 * Renders a template. HTML values are escaped; line ends and control characters in the subject become spaces. 422
 * `parameter_mismatch` for missing variables if `isStrict`, else those are empty; 422 for unusable values and exceeded
 * limits.
 */
export function renderTemplate(parts: TemplateParts, given: Values, isStrict = false): TemplateParts {
  checkValues(
    Object.values(parts).flatMap((source) => (source === null ? [] : [useOf(source)])),
    given,
    isStrict,
  )
  const values = { ...given, [UNSUBSCRIBE_URL]: UNSUBSCRIBE_PLACEHOLDER }
  return {
    subject: toLine(render('subject', 'plain', parts.subject, values)),
    html: render('html', 'html', parts.html, values),
    text: parts.text === null ? null : render('text', 'plain', parts.text, values),
  }
}

function render(path: string, engine: Engine, source: string, values: Record<string, unknown>): string {
  try {
    const rendered = String(engines[engine].renderSync(parse(engine, source), values))
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
