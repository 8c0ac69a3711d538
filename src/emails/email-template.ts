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

export type NewEmailTemplate = {
  name: string
  subject: string
  html: string
  text?: string | null
  category?: EmailCategory
}
export type EmailTemplateChange = Partial<NewEmailTemplate>

/**
 * Creates a template. 422 lists a blank name, each part that is not valid Liquid or uses a
 * variable in a way that no value can fill, and MARKETING html without `{{ unsubscribe_url }}`.
 */
export const createEmailTemplate = async (db: Db, companyId: number, input: NewEmailTemplate): Promise<EmailTemplate> =>
  insertEmailTemplate(db, companyId, newTemplateId(), await toValues(companyId, input))

/** The company's templates, oldest first. */
export const listEmailTemplates = (db: Db, companyId: number): Promise<EmailTemplate[]> =>
  selectEmailTemplates(db, companyId)

/** One of the company's templates by its `tmpl_…`; 404 `Transactional not found`. */
export async function getEmailTemplate(db: Db, companyId: number, uid: string): Promise<EmailTemplate> {
  const template = await findEmailTemplate(db, companyId, uid)
  if (template === undefined) throw transactionalNotFound()
  return template
}

/**
 * Changes what is given and leaves the rest, also of changes that are made at the same time; mails that were accepted
 * before stay as they are. 404, 422 as above.
 */
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

/** Removes a template: it is not found any more; mails on their way still go. 404 `Transactional not found`. */
export async function removeEmailTemplate(db: Db, companyId: number, uid: string): Promise<void> {
  if (!(await markEmailTemplateRemoved(db, companyId, uid))) throw transactionalNotFound()
}

/** The faults of a template, or of those members that have the right shape. */
export const emailTemplateFaults = async (change: EmailTemplateChange): Promise<FieldFault[]> => [
  ...nameFaults(change),
  ...(await examineTemplate(NO_COMPANY, change)).faults,
]

/** Templates whose shape is at fault wait for the worker together. */
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

/**
 * The statistics of a template's mails, also after its removal, by its `transactionalId`; 404 `Transactional not
 * found`.
 */
export async function getEmailTemplateCounts(db: Db, companyId: number, id: number): Promise<EmailTemplateCounts> {
  const counts = await findEmailTemplateCounts(db, companyId, id)
  if (counts === undefined) throw transactionalNotFound()
  return counts
}

/** Whole percent of the mails sent, as text. */
export const rateOf = (part: number, sent: number): string =>
  sent === 0 ? '0%' : `${Math.round((part / sent) * 100)}%`
