import { TEMPLATE_EXAMPLE, TemplateRecord, toTemplateRecord } from '../../../templates/template-record.ts'
import { listTemplatesByKeys } from '../../../templates/template-store.ts'
import { type RecordEventKind, recordEvent } from '../event-kind.ts'

const NAME = 'whatsapp.template.status'

declare module '../../../changes/record-change.ts' {
  interface RecordChanges {
    [NAME]: { familyId: string; language: string }
  }
}

export const templateStatus: RecordEventKind<typeof NAME> = {
  name: NAME,
  label: 'Statuses of templates',
  operationId: 'receiveTemplateStatus',
  summary: 'Receive a template status',
  description:
    'The provider approved, rejected or disabled a template in one language, or is reviewing it again. `data` is the template as in the list, `change` its status.',
  ...recordEvent(NAME, 'TemplateStatusEvent', {
    id: 'tmpl_2f9c1e7ab04d.5d0ef1f0-7f0a-4d3c-9d0b-0e1a2b3c4d5e',
    changes: ['APPROVED', 'PENDING', 'REJECTED', 'DISABLED'],
    change: 'APPROVED',
    data: TemplateRecord,
    dataExample: TEMPLATE_EXAMPLE,
  }),
  async build(tx, { newId }, companyId, changes) {
    const templates = await listTemplatesByKeys(tx, companyId, changes)
    return templates.map(({ channelIds, ...row }) => ({
      eventId: `${row.familyId}.${newId()}`,
      messageId: null,
      conversationId: null,
      channelIds,
      change: row.status,
      data: toTemplateRecord(row),
    }))
  },
}
