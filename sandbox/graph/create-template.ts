import { type Answer, jsonAnswer } from '../answer.ts'
import type { Account } from '../world/account.ts'
import type { IdMaker } from '../world/id-maker.ts'
import { createTemplate, type Template, type TemplateComponent } from '../world/template.ts'
import type { World } from '../world/world.ts'
import { refuse } from './graph-error.ts'
import { sampleRefusal } from './sample.ts'

/** For how many seconds the provider may try to deliver a message, by category. */
const LIFETIMES: Record<string, [shortest: number, longest: number]> = {
  AUTHENTICATION: [30, 900],
  UTILITY: [30, 43_200],
  MARKETING: [43_200, 2_592_000],
}
const CATEGORIES = ['UTILITY', 'MARKETING', 'AUTHENTICATION']

/** `POST /{account}/message_templates`: the template is pending until its status is changed by the control address. */
export function submitTemplate(
  { world, ids }: { world: World; ids: IdMaker },
  account: Account,
  body: Record<string, unknown>,
): Answer {
  const invalid = (details: string) => refuse({ code: 100, details }, ids.trace())
  const { name, language, category, components, parameter_format: format = 'POSITIONAL' } = body
  const { message_send_ttl_seconds: lifetime } = body
  if (typeof name !== 'string' || !/^[a-z0-9_]{1,512}$/.test(name)) return invalid('name is invalid')
  if (typeof language !== 'string' || !/^[a-z]{2,3}(_[A-Z0-9]{2,3})?$/.test(language)) {
    return invalid('language is invalid')
  }
  if (typeof category !== 'string' || !CATEGORIES.includes(category)) return invalid('category is invalid')
  if (!isFormat(format)) return invalid('parameter_format is invalid')
  if (!isComponents(components)) return invalid('components must hold objects with a type')
  if (!isLifetime(lifetime, category)) return invalid('message_send_ttl_seconds is out of range for this category')
  const refusal = sampleRefusal(world, components)
  if (refusal !== undefined) return refuse(refusal, ids.trace())
  if (world.templates.find(account.id, name, language) !== undefined) {
    return refuse({ code: 100, subcode: 2388024, details: `${name} exists already in ${language}` }, ids.trace())
  }
  const record = {
    id: ids.number(),
    name,
    language,
    status: 'PENDING',
    category,
    parameter_format: format,
    rejected_reason: 'NONE',
    quality_score: { score: 'UNKNOWN' },
    components,
    ...(lifetime !== undefined && { message_send_ttl_seconds: lifetime }),
  }
  world.templates.add(createTemplate(account.id, record))
  return jsonAnswer({ id: record.id, status: record.status, category })
}

function isLifetime(value: unknown, category: string): value is number | undefined {
  const [shortest, longest] = LIFETIMES[category] ?? [0, 0]
  return value === undefined || (typeof value === 'number' && value >= shortest && value <= longest)
}

const isFormat = (value: unknown): value is 'POSITIONAL' | 'NAMED' => value === 'POSITIONAL' || value === 'NAMED'

const isComponents = (value: unknown): value is TemplateComponent[] =>
  Array.isArray(value) && value.length > 0 && value.every((one) => typeof Object(one).type === 'string')

/** `POST /{template}`: other components or another category; the template is pending again. */
export function editTemplate(
  { world, ids }: { world: World; ids: IdMaker },
  { wabaAccountId, record }: Template,
  body: Record<string, unknown>,
): Answer {
  const { components = record.components, category = record.category } = body
  const { message_send_ttl_seconds: lifetime = record.message_send_ttl_seconds } = body

  const invalid = (details: string) => refuse({ code: 100, details }, ids.trace())
  if (typeof category !== 'string' || !CATEGORIES.includes(category)) return invalid('category is invalid')
  if (!isComponents(components)) return invalid('components must hold objects with a type')
  if (!isLifetime(lifetime, category)) return invalid('message_send_ttl_seconds is out of range for this category')
  const refusal = body.components === undefined ? undefined : sampleRefusal(world, components)
  if (refusal !== undefined) return refuse(refusal, ids.trace())
  if (record.status === 'PENDING') return invalid('Only approved, rejected or paused templates can be edited')
  if (record.status === 'APPROVED' && category !== record.category) {
    return invalid('The category of an approved template cannot be changed')
  }
  const kept = { ...(lifetime !== undefined && { message_send_ttl_seconds: lifetime }) }
  world.templates.add(createTemplate(wabaAccountId, { ...record, status: 'PENDING', components, category, ...kept }))
  return jsonAnswer({ success: true })
}

/** `DELETE /{account}/message_templates?name=`: the template in all languages. */
export function deleteTemplate({ world, ids }: { world: World; ids: IdMaker }, account: Account, name: string): Answer {
  const found = world.templates.list(account.id).filter(({ record }) => record.name === name)
  if (found.length === 0) return refuse({ code: 100, details: `Message template ${name} was not found` }, ids.trace())
  for (const template of found) world.templates.remove(template)
  return jsonAnswer({ success: true })
}
