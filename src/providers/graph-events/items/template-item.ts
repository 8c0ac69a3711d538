import { isRecord } from '../../../platform/text/json-text.ts'
import type {
  InboundItem,
  JsonObject,
  Placed,
  TemplateButtonChange,
  TemplateStatusEvent,
} from '../../events/event-item.ts'
import { ID_LIMIT, idAt, listAt, objectAt, textAt } from '../../events/event-reader.ts'

/** Unlisted statuses change nothing. */
export const STATUSES = new Map<string, TemplateStatusEvent>([
  ['APPROVED', 'APPROVED'],
  ['REINSTATED', 'APPROVED'],
  ['UNARCHIVED', 'APPROVED'],
  ['PENDING', 'PENDING'],
  ['IN_APPEAL', 'PENDING'],
  ['REJECTED', 'REJECTED'],
  ['PAUSED', 'DISABLED'],
  ['DISABLED', 'DISABLED'],
  ['ARCHIVED', 'DISABLED'],
  ['PENDING_DELETION', 'DISABLED'],
  ['DELETED', 'DISABLED'],
  ['LIMIT_EXCEEDED', 'DISABLED'],
])

export type TemplateReader = (value: JsonObject, placed: Placed) => InboundItem

/** Reads `message_template_status_update`. */
export const readTemplateStatus: TemplateReader = (value, placed) => {
  const event = textAt(value, 'event')?.toUpperCase()
  const named = readName(value)
  if (event === undefined || isNameless(named)) return ignored(placed, 'no template or status')
  return {
    ...placed,
    kind: 'template-status',
    ...named,
    event,
    status: STATUSES.get(event) ?? null,
    reason: toReason(textAt(value, 'reason')),
    explanation:
      textAt(objectAt(value, 'rejection_info'), 'reason') ?? textAt(objectAt(value, 'other_info'), 'description'),
    category: textAt(value, 'message_template_category'),
  }
}

/** Reads `message_template_quality_update`. */
export const readTemplateQuality: TemplateReader = (value, placed) => {
  const score = textAt(value, 'new_quality_score')
  const named = readName(value)
  if (score === null || isNameless(named)) return ignored(placed, 'no template or score')
  return {
    ...placed,
    kind: 'template-quality',
    ...named,
    score,
    previousScore: textAt(value, 'previous_quality_score'),
  }
}

/** Reads `template_category_update`, ignoring announcements (`correct_category` alone). */
export const readTemplateCategory: TemplateReader = (value, placed) => {
  const category = textAt(value, 'new_category')
  const named = readName(value)
  if (category === null || isNameless(named)) return ignored(placed, 'no template or new category')
  return {
    ...placed,
    kind: 'template-category',
    ...named,
    category,
    previousCategory: textAt(value, 'previous_category'),
  }
}

/** Reads `message_template_components_update`. */
export const readTemplateComponents: TemplateReader = (value, placed) => {
  const named = readName(value)
  if (isNameless(named)) return ignored(placed, 'no template')
  return {
    ...placed,
    kind: 'template-components',
    ...named,
    header: textAt(value, 'message_template_title'),
    body: textAt(value, 'message_template_element'),
    footer: textAt(value, 'message_template_footer'),
    buttons: listAt(value, 'message_template_buttons').filter(isRecord).map(readButton),
  }
}

const readButton = (button: JsonObject): TemplateButtonChange => ({
  type: textAt(button, 'message_template_button_type'),
  text: textAt(button, 'message_template_button_text'),
  url: textAt(button, 'message_template_button_url'),
  phoneNumber: textAt(button, 'message_template_button_phone_number'),
})

export type TemplateName = { templateId: string | null; name: string | null; language: string | null }

const readName = (value: JsonObject): TemplateName => ({
  templateId: idAt(value, 'message_template_id', ID_LIMIT),
  name: textAt(value, 'message_template_name'),
  language: toLanguage(textAt(value, 'message_template_language')),
})

/** Returns whether the template can't be found. */
export const isNameless = ({ templateId, name }: TemplateName): boolean => templateId === null && name === null
/** Converts `en-US`, used in events, to `en_US`, used in lists. */
export const toLanguage = (language: string | null): string | null => language?.replaceAll('-', '_') ?? null
/** Returns the rejection reason; empty for `NONE`. */
export const toReason = (reason: string | null): string => (reason === null || reason === 'NONE' ? '' : reason)
/** Builds an ignored item. */
export const ignored = (placed: Placed, reason: string): InboundItem => ({ ...placed, kind: 'ignored', reason })
