import { listChangedContacts } from '../../../contacts/changed-contact-store.ts'
import { CONTACT_EXAMPLE, ContactReplyShape, toContactReply } from '../../../contacts/contact-shape.ts'
import { type RecordEventKind, recordEvent } from '../event-kind.ts'

const NAME = 'contact.changed'
const CHANGES = ['created', 'updated', 'deleted', 'consent'] as const

declare module '../../../changes/record-change.ts' {
  interface RecordChanges {
    [NAME]: { id: number; change: (typeof CHANGES)[number] }
  }
}

export const contactChanged: RecordEventKind<typeof NAME> = {
  name: NAME,
  label: 'Changes of contacts',
  operationId: 'receiveContactChange',
  summary: 'Receive a contact change',
  description:
    'A contact was created, updated or deleted, or its marketing consent changed, by the API, an import, a message, a send, or the customer. If the customer gets another phone number or user id, the change is `updated`, even if the record looks the same. `data` is the contact after the change; a deleted contact has `deleted` true. An erasure is also `deleted`, even if the contact was already deleted: `status` is `erased`, and `data` contains only the id of the person.',
  ...recordEvent(NAME, 'ContactChangedEvent', {
    id: 'contact_4127.5d0ef1f0-7f0a-4d3c-9d0b-0e1a2b3c4d5e',
    changes: CHANGES,
    change: 'updated',
    data: ContactReplyShape,
    dataExample: CONTACT_EXAMPLE,
  }),
  async build(tx, { newId }, companyId, changes) {
    const ids = [...new Set(changes.map(({ id }) => id))]
    const contacts = new Map((await listChangedContacts(tx, companyId, ids)).map((one) => [one.id, one]))
    return changes.flatMap(({ id, change }) => {
      const contact = contacts.get(id)
      if (contact === undefined) return []
      const data = { ...toContactReply(companyId, contact), deleted: contact.isDeleted }
      // Erasure erases all events of a contact except its own.
      const subject = contact.isErased ? `erasure_${id}` : `contact_${id}`
      return [
        { eventId: `${subject}.${newId()}`, messageId: null, conversationId: null, channelIds: null, change, data },
      ]
    })
  },
}
