import { type Db, sql } from '../db/connect.ts'

/** `MARKETING` needs consent and adds an unsubscribe link; the others behave the same. */
export const EMAIL_CATEGORIES = ['TRANSACTIONAL', 'UTILITY', 'AUTHENTICATION', 'MARKETING'] as const

export type EmailCategory = (typeof EMAIL_CATEGORIES)[number]

export type EmailTemplate = {
  /** On the wire `transactionalId`. */
  readonly id: number
  /** `tmpl_…`, on the wire `id`. */
  readonly uid: string
  readonly name: string
  readonly subject: string
  readonly html: string
  readonly text: string | null
  readonly category: EmailCategory
  readonly variables: readonly string[]
  readonly createdAt: Date
  readonly updatedAt: Date
}

export type EmailTemplateValues = Pick<EmailTemplate, 'name' | 'subject' | 'html' | 'text' | 'category' | 'variables'>

const columns = sql`id, uid, name, subject, html, text, category, variables, created_at, updated_at`

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

/** Lists a company's templates, oldest first, without removed ones. */
export const selectEmailTemplates = (db: Db, companyId: number): Promise<EmailTemplate[]> => db<EmailTemplate[]>`
  select ${columns}
  from email_templates
  where company_id = ${companyId} and deleted_at is null
  order by id
`

/** Returns undefined if the company has none with this uid, or removed it. */
export async function findEmailTemplate(db: Db, companyId: number, uid: string): Promise<EmailTemplate | undefined> {
  const [template] = await db<EmailTemplate[]>`
    select ${columns}
    from email_templates
    where (company_id, uid) = (${companyId}, ${uid}) and deleted_at is null
  `
  return template
}

export async function lockEmailTemplate(tx: Db, companyId: number, uid: string): Promise<EmailTemplate | undefined> {
  const [template] = await tx<EmailTemplate[]>`
    select ${columns}
    from email_templates
    where (company_id, uid) = (${companyId}, ${uid}) and deleted_at is null
    for no key update
  `
  return template
}

/** Replaces all values. The caller must hold the template lock. */
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

/** Marks a template as removed; returns false if there was none. */
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

/** Reads a template's counts from two rows, also after its removal. */
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
