import type { Db, Pool } from '../db/connect.ts'
import { type FieldFault, transactionalNotFound, validationError } from '../platform/errors.ts'
import { newTemplateId } from '../platform/ids.ts'
import {
  type EmailCategory,
  type EmailTemplate,
  type EmailTemplateCounts,
  type EmailTemplateValues,
  findEmailTemplate,
  findEmailTemplateCounts,
  insertEmailTemplate,
  lockEmailTemplate,
  markEmailTemplateRemoved,
  selectEmailTemplates,
  updateEmailTemplateRow,
} from './email-template-store.ts'
import { examineTemplate } from './rendering/template-text.ts'

type NewEmailTemplate = {
  name: string
  subject: string
  html: string
  text?: string | null
  category?: EmailCategory
}
export type EmailTemplateChange = Partial<NewEmailTemplate>

/** Creates a template; 422 for a blank name, bad Liquid, unfillable variables or MARKETING without unsubscribe link. */
export const createEmailTemplate = async (db: Db, companyId: number, input: NewEmailTemplate): Promise<EmailTemplate> =>
  insertEmailTemplate(db, companyId, newTemplateId(), await toValues(companyId, input))

export const listEmailTemplates = (db: Db, companyId: number): Promise<EmailTemplate[]> =>
  selectEmailTemplates(db, companyId)

/** Returns a template by its `tmpl_…`; 404 `Transactional not found`. */
export async function getEmailTemplate(db: Db, companyId: number, uid: string): Promise<EmailTemplate> {
  const template = await findEmailTemplate(db, companyId, uid)
  if (template === undefined) throw transactionalNotFound()
  return template
}

/** Changes the given members only, also under concurrent changes; accepted mails stay unchanged. 404, 422 as above. */
export const updateEmailTemplate = (
  db: Pool,
  companyId: number,
  uid: string,
  change: EmailTemplateChange,
): Promise<EmailTemplate> =>
  db.begin(async (tx) => {
    const before = await lockEmailTemplate(tx, companyId, uid)
    if (before === undefined) throw transactionalNotFound()
    const values = await toValues(companyId, {
      ...before,
      ...change,
      text: change.text === undefined ? before.text : change.text,
    })
    return updateEmailTemplateRow(tx, companyId, uid, values)
  })

/** Removes a template; mails on their way are still sent. 404 `Transactional not found`. */
export async function removeEmailTemplate(db: Db, companyId: number, uid: string): Promise<void> {
  if (!(await markEmailTemplateRemoved(db, companyId, uid))) throw transactionalNotFound()
}

/** Returns the faults of well-formed members. */
export const emailTemplateFaults = async (change: EmailTemplateChange): Promise<FieldFault[]> => [
  ...nameFaults(change),
  ...(await examineTemplate(NO_COMPANY, change)).faults,
]

/** Malformed templates share one turn at the worker. */
const NO_COMPANY = 0

const NO_UNSUBSCRIBE_LINK: FieldFault = {
  path: 'html',
  message: 'must contain a link to {{ unsubscribe_url }}, since the template is MARKETING',
}

const nameFaults = ({ name }: EmailTemplateChange): FieldFault[] =>
  name?.trim() === '' ? [{ path: 'name', message: 'must not be blank' }] : []

async function toValues(companyId: number, input: NewEmailTemplate): Promise<EmailTemplateValues> {
  const name = input.name.trim()
  const parts = { subject: input.subject, html: input.html, text: input.text ?? null }
  const category = input.category ?? 'TRANSACTIONAL'
  const { variables, faults, hasUnsubscribeLink } = await examineTemplate(companyId, parts)
  const all = [...nameFaults(input), ...faults]
  if (all.length === 0 && category === 'MARKETING' && !hasUnsubscribeLink) all.push(NO_UNSUBSCRIBE_LINK)
  if (all.length > 0) throw validationError(all)
  return { name, ...parts, category, variables }
}

/** Returns a template's statistics, also after its removal; 404 `Transactional not found`. */
export async function getEmailTemplateCounts(db: Db, companyId: number, id: number): Promise<EmailTemplateCounts> {
  const counts = await findEmailTemplateCounts(db, companyId, id)
  if (counts === undefined) throw transactionalNotFound()
  return counts
}

export const rateOf = (part: number, sent: number): string =>
  sent === 0 ? '0%' : `${Math.round((part / sent) * 100)}%`
