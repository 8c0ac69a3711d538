import { Type } from 'typebox'
import { templateEvent } from '../gupshup/platform-event.ts'
import { envelopeOf } from '../webhook/envelope.ts'
import { DEMO_ACCOUNT } from '../world/demo.ts'
import { createTemplate, type Template } from '../world/template.ts'
import { BadInput, parserOf } from './bad-input.ts'
import type { ControlCall, ControlDeps } from './control-deps.ts'

/** The names of status events, and the status that the template then has; null leaves it as it is. */
const EVENTS: Record<string, string | null> = {
  APPROVED: 'APPROVED',
  REINSTATED: 'APPROVED',
  UNARCHIVED: 'APPROVED',
  PENDING: 'PENDING',
  IN_APPEAL: 'IN_APPEAL',
  REJECTED: 'REJECTED',
  PAUSED: 'PAUSED',
  DISABLED: 'DISABLED',
  ARCHIVED: 'ARCHIVED',
  PENDING_DELETION: 'PENDING_DELETION',
  DELETED: 'DELETED',
  LIMIT_EXCEEDED: 'LIMIT_EXCEEDED',
  FLAGGED: null,
  LOCKED: null,
}

const parseTemplate = parserOf(
  Type.Object(
    {
      wabaAccountId: Type.Optional(Type.String()),
      name: Type.String({ pattern: '^[a-z0-9_]{1,512}$' }),
      language: Type.String({ pattern: '^[a-z]{2,3}(_[A-Z0-9]{2,3})?$' }),
      category: Type.Enum(['UTILITY', 'MARKETING', 'AUTHENTICATION']),
      status: Type.Optional(Type.String({ enum: Object.keys(EVENTS).filter((event) => EVENTS[event] === event) })),
      parameter_format: Type.Optional(Type.Enum(['POSITIONAL', 'NAMED'])),
      rejected_reason: Type.Optional(Type.String()),
      components: Type.Array(
        Type.Object({
          type: Type.String({ minLength: 1 }),
          format: Type.Optional(Type.String()),
          text: Type.Optional(Type.String()),
          buttons: Type.Optional(
            Type.Array(
              Type.Object({
                type: Type.String(),
                text: Type.Optional(Type.String()),
                url: Type.Optional(Type.String()),
              }),
            ),
          ),
        }),
        { minItems: 1 },
      ),
    },
    { additionalProperties: false },
  ),
)

/** `GET /sandbox/templates`: every account's, each with the account it belongs to. */
export const listAllTemplates = ({ world }: ControlDeps) => world.templates.list().map(toReply)

/** `POST /sandbox/templates`: a new template, approved unless it says otherwise. No event goes out. */
export function addTemplate({ world, ids }: ControlDeps, { body }: ControlCall) {
  const { wabaAccountId = DEMO_ACCOUNT.id, ...asked } = parseTemplate(body)
  if (!world.accounts.has(wabaAccountId)) throw new BadInput('wabaAccountId', 'is no account here')
  if (world.templates.find(wabaAccountId, asked.name, asked.language)) {
    throw new BadInput('name', `${asked.name} exists already in ${asked.language}`)
  }
  const template = createTemplate(wabaAccountId, {
    id: ids.number(),
    name: asked.name,
    language: asked.language,
    status: asked.status ?? 'APPROVED',
    category: asked.category,
    parameter_format: asked.parameter_format ?? 'POSITIONAL',
    rejected_reason: asked.rejected_reason ?? 'NONE',
    quality_score: { score: 'UNKNOWN' },
    components: asked.components,
  })
  world.templates.add(template)
  return toReply(template)
}

const parseStatus = parserOf(
  Type.Object(
    {
      status: Type.String({ enum: Object.keys(EVENTS) }),
      reason: Type.Optional(Type.Union([Type.String({ minLength: 1 }), Type.Null()])),
    },
    { additionalProperties: false },
  ),
)

/** `POST /sandbox/templates/:id/status`: the template's status changes and the event says so. */
export async function changeTemplateStatus({ world, clock, webhook }: ControlDeps, { params, body }: ControlCall) {
  const { status: event, reason } = parseStatus(body)
  const template = world.templates.get(params.id ?? '')
  if (template === undefined) throw new BadInput('id', `${params.id} is no template here`, 404)
  const { record } = template
  record.status = EVENTS[event] ?? record.status
  record.rejected_reason = event === 'REJECTED' ? (reason ?? 'INVALID_FORMAT') : 'NONE'
  const at = clock.now()
  const app = [...world.numbers.values()].find((one) => one.wabaAccountId === template.wabaAccountId)?.app
  if (app !== undefined) return { ...toReply(template), ...(await webhook.post(templateEvent(app, record, event, at))) }
  const value = statusEvent(template, event, reason ?? record.rejected_reason, at)
  const change = { wabaAccountId: template.wabaAccountId, field: 'message_template_status_update', value }
  return { ...toReply(template), ...(await webhook.post(envelopeOf([change], at))) }
}

function statusEvent({ record }: Template, event: string, reason: string, at: Date) {
  return {
    event,
    message_template_id: Number(record.id),
    message_template_name: record.name,
    message_template_language: record.language,
    reason,
    message_template_category: record.category,
    ...(event === 'REJECTED' && {
      rejection_info: { reason, recommendation: 'Change the template and submit it again.' },
    }),
    ...(event === 'PAUSED' && { other_info: { title: 'FIRST_PAUSE', description: 'Paused for 3 hours.' } }),
    ...(event === 'DISABLED' && { disable_info: { disable_date: Math.floor(at.getTime() / 1000) } }),
  }
}

const toReply = ({ wabaAccountId, record }: Template) => ({ ...record, wabaAccountId })
