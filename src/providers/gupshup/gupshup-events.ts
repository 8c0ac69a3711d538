import { isRecord } from '../../platform/text/json-text.ts'
import type { InboundItem, JsonObject, Placed, ReportedError } from '../events/event-item.ts'
import {
  type EventFormat,
  type GraphExtension,
  ID_LIMIT,
  idAt,
  memberAt,
  objectAt,
  placeWhole,
  secondsAt,
  textAt,
  unreadable,
  WAMID_LIMIT,
} from '../events/event-reader.ts'
import {
  ignored,
  isNameless,
  STATUSES,
  type TemplateName,
  type TemplateReader,
  toLanguage,
  toReason,
} from '../graph-events/items/template-item.ts'
import { codeAt } from '../graph-events/message-content.ts'
import { qualityOf } from './gupshup-template.ts'

/** Gupshup v3 is Meta's format plus an app id, a message id and flat errors. */
export const gupshupExtension: GraphExtension = {
  appNames: ['gs_app_id', 'app'],
  appIdName: 'gs_app_id',
  messageIdOf: (status) => idAt(status, 'gs_id', WAMID_LIMIT),
  errorOf: readFlatError,
}

/** Gupshup's own format: template events, and the unsupported v2. */
export const gupshupEvents: EventFormat = {
  readItems: (body, { text }) => {
    if (Array.isArray(memberAt(body, 'entry'))) return undefined
    const item = readBody(body, text)
    return item && [item]
  },
}

function readBody(body: JsonObject, text: string): InboundItem | undefined {
  const name = textAt(body, 'event') ?? textAt(body, 'type')
  const appId = idAt(body, 'gs_app_id', ID_LIMIT) ?? idAt(body, 'app', ID_LIMIT)
  const placed: Placed = { ...placeWhole(text), field: name, timestamp: secondsAt(body, 'timestamp') }
  const routed: Placed = appId === null ? placed : { ...placed, route: { by: 'app', appId } }
  if (name === 'template-event') return readTemplateEvent(body, routed)
  if (textAt(body, 'version') === '2' && isRecord(memberAt(body, 'payload'))) {
    return unreadable(routed, 'Gupshup version 2: subscribe with version=3')
  }
  return appId === null ? undefined : ignored(routed, 'a body without entries')
}

const readTemplateEvent: TemplateReader = (body, placed) => {
  const payload = objectAt(body, 'payload')
  const named = {
    templateId: idAt(payload, 'id', ID_LIMIT),
    name: textAt(payload, 'elementName'),
    language: toLanguage(textAt(payload, 'languageCode')),
  }
  if (isNameless(named)) return ignored(placed, 'no template')
  const type = textAt(payload, 'type')
  if (type === 'category-update') return readCategory(payload, { ...placed, ...named })
  if (type === 'quality-update') return readQuality(payload, { ...placed, ...named })
  const event = textAt(payload, 'status')?.toUpperCase()
  if (event === undefined) return ignored(placed, 'no status')
  const reason = toReason(textAt(payload, 'rejectedReason'))
  const explanation = textAt(payload, 'description')
  const category = textAt(payload, 'category')
  const status = STATUSES.get(event) ?? null
  return { ...placed, kind: 'template-status', ...named, event, status, reason, explanation, category }
}

/** `{old, new}`; ignores announcements, `{current, correct}`. */
function readCategory(payload: JsonObject, placed: Placed & TemplateName): InboundItem {
  const category = upperCaseAt(payload, 'category', 'new')
  if (category === null) return ignored(placed, 'no new category')
  return { ...placed, kind: 'template-category', category, previousCategory: upperCaseAt(payload, 'category', 'old') }
}

function readQuality(payload: JsonObject, placed: Placed & TemplateName): InboundItem {
  const score = upperCaseAt(payload, 'quality', 'new') ?? textAt(payload, 'quality')?.toUpperCase() ?? null
  if (score === null) return ignored(placed, 'no score')
  const previous = upperCaseAt(payload, 'quality', 'old')
  return {
    ...placed,
    kind: 'template-quality',
    score: qualityOf(score),
    previousScore: previous === null ? null : qualityOf(previous),
  }
}

const upperCaseAt = (payload: JsonObject, object: string, name: string): string | null =>
  textAt(objectAt(payload, object), name)?.toUpperCase() ?? null

function readFlatError(status: JsonObject): ReportedError | null {
  const code = codeAt(status)
  const title = textAt(status, 'reason')
  return code === null && title === null ? null : { code, title, details: null }
}
