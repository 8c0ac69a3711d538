import { isObject } from '../events/json-member.ts'
import { idOf, objectsIn } from '../graph-answer.ts'
import { text } from '../graph-error.ts'
import type { PassedOn, ProviderNumber, ProviderTemplate } from '../provider.ts'
import { readTemplate } from '../template-shape.ts'

/** Reads an entry in `waba_templates[]`. The external id is Meta's, used in events. */
export function readTemplateRecord(item: Record<string, unknown>): ProviderTemplate | undefined {
  const template = readTemplate(item)
  return (
    template && {
      ...template,
      externalId: idOf(item.external_id) ?? template.externalId,
      partnerId: text(item.partner_id),
      createdBy: isObject(item.created_by) ? item.created_by : null,
      modifiedBy: isObject(item.modified_by) ? item.modified_by : null,
      passedOn: readPassedOn(item),
    }
  )
}

function readPassedOn(item: Record<string, unknown>): PassedOn {
  const { waba_account_id: account, created_at: created, modified_at: modified, updated_external: isExternal } = item
  return {
    ...(typeof account === 'string' && account !== '' && { waba_account_id: account }),
    ...(isDate(created) && { created_at: created }),
    ...(isDate(modified) && { modified_at: modified }),
    ...(typeof isExternal === 'boolean' && { updated_external: isExternal }),
  }
}

const isDate = (value: unknown): value is string => typeof value === 'string' && !Number.isNaN(Date.parse(value))

/** Reads the number for an API key. Its id may appear only among the health entities. */
export function readNumber(body: Record<string, unknown>): ProviderNumber {
  const health = isObject(body.health_status) ? body.health_status : {}
  const entities = objectsIn(health.entities)
  const idOfEntity = (type: string) => idOf(entities.find((one) => one.entity_type === type)?.id)
  return {
    phoneNumberId: idOf(body.id) ?? idOfEntity('PHONE_NUMBER'),
    wabaAccountId: idOfEntity('WABA'),
    appId: null,
    phoneNumber: text(body.display_phone_number),
    phoneName: text(body.verified_name),
    isSharedWithApp: body.is_on_biz_app === true,
  }
}
