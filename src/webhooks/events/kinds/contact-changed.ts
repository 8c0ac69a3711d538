import { listChangedContacts } from '../../../contacts/changed-contact-store.ts'
import { CONTACT_EXAMPLE, ContactReplyShape, toContactReply } from '../../../contacts/contact-reply.ts'
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
  summary: 'Receive a change of a contact',
  description:
    'A contact was created, updated or deleted, or its consent to marketing changed, by the API, an import, a message, a send, or the customer. Its customer got another phone number or user id: `updated`, also while the record looks the same. `data` is the contact as it is after the change; a deleted contact has `deleted` true. The erasure of a contact is `deleted`, too, also of one that was deleted before: `status` is `erased`, and of the person `data` has only the id.',
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
