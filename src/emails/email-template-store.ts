import { type Db, sql } from '../db/connect.ts'

/** `MARKETING` needs consent and adds an unsubscribe link; the others are alike. */
export const EMAIL_CATEGORIES = ['TRANSACTIONAL', 'UTILITY', 'AUTHENTICATION', 'MARKETING'] as const

export type EmailCategory = (typeof EMAIL_CATEGORIES)[number]

/** A template of email: its parts are Liquid. */
export type EmailTemplate = {
  /** On the wire the `transactionalId`. */
  readonly id: number
  /** `tmpl_…`, on the wire the `id`. */
  readonly uid: string
  readonly name: string
  readonly subject: string
  readonly html: string
  readonly text: string | null
  readonly category: EmailCategory
  /** The variables of the parts, in the order of first appearance. */
  readonly variables: readonly string[]
  readonly createdAt: Date
  readonly updatedAt: Date
}

export type EmailTemplateValues = Pick<EmailTemplate, 'name' | 'subject' | 'html' | 'text' | 'category' | 'variables'>

const columns = sql`id, uid, name, subject, html, text, category, variables, created_at, updated_at`

/** Adds a template under a new uid, with its counts at zero. */
export async function insertEmailTemplate(
  db: Db,
  companyId: number,
  uid: string,
  values: EmailTemplateValues,
): Promise<EmailTemplate> {
  const [template] = await db<[EmailTemplate]>`
    with template as (
      insert into email_templates (company_id, uid, name, subject, html, text, category, variables)
      values (
        ${companyId}, ${uid}, ${values.name}, ${values.subject}, ${values.html}, ${values.text}, ${values.category},
        ${values.variables}
      )
      returning *
    ),
    counted as (
      insert into email_template_counts (company_id, template_id)
      select company_id, id from template
    )
    select ${columns} from template
  `
  return template
}

/** The templates of a company that are not removed, oldest first. */
export const selectEmailTemplates = (db: Db, companyId: number): Promise<EmailTemplate[]> => db<EmailTemplate[]>`
  select ${columns}
  from email_templates
  where company_id = ${companyId} and deleted_at is null
  order by id
`

/** The template with this uid; undefined when the company has none, or has deleted it. */
export async function findEmailTemplate(db: Db, companyId: number, uid: string): Promise<EmailTemplate | undefined> {
  const [template] = await db<EmailTemplate[]>`
    select ${columns}
    from email_templates
    where (company_id, uid) = (${companyId}, ${uid}) and deleted_at is null
  `
  return template
}

/** One template, locked until the transaction ends. */
export async function lockEmailTemplate(tx: Db, companyId: number, uid: string): Promise<EmailTemplate | undefined> {
  const [template] = await tx<EmailTemplate[]>`
    select ${columns}
    from email_templates
    where (company_id, uid) = (${companyId}, ${uid}) and deleted_at is null
    for no key update
  `
  return template
}

/** Replaces all values. The caller has locked the template in this transaction. */
export async function updateEmailTemplateRow(
  db: Db,
  companyId: number,
  uid: string,
  values: EmailTemplateValues,
): Promise<EmailTemplate> {
  const [template] = await db<[EmailTemplate]>`
    update email_templates
    set name = ${values.name}, subject = ${values.subject}, html = ${values.html}, text = ${values.text},
        category = ${values.category}, variables = ${values.variables}, updated_at = now()
    where (company_id, uid) = (${companyId}, ${uid}) and deleted_at is null
    returning ${columns}
  `
  return template
}

/** Marks a template as removed; false when the company has no such one. */
export async function markEmailTemplateRemoved(db: Db, companyId: number, uid: string): Promise<boolean> {
  const removed = await db`
    update email_templates
    set deleted_at = now()
    where (company_id, uid) = (${companyId}, ${uid}) and deleted_at is null
  `
  return removed.count > 0
}

export type EmailTemplateCounts = {
  createdAt: Date
  sent: number
  opened: number
  clicked: number
  bounced: number
  complained: number
}

/** Two rows by their keys, however many mails there were. A removed template keeps its counts. */
export async function findEmailTemplateCounts(
  db: Db,
  companyId: number,
  id: number,
): Promise<EmailTemplateCounts | undefined> {
  const [row] = await db<EmailTemplateCounts[]>`
    select templates.created_at, counts.sent, counts.opened, counts.clicked, counts.bounced, counts.complained
    from email_templates templates
    join email_template_counts counts on (counts.company_id, counts.template_id) = (templates.company_id, templates.id)
    where (templates.company_id, templates.id) = (${companyId}, ${id})
  `
  return row
}
