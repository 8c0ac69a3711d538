import type { Template } from './template.ts'

/** The templates of every account, found by id or by what a send names: account, name and language. */
export type TemplateBook = {
  add(template: Template): void
  remove(template: Template): void
  get(id: string): Template | undefined
  find(wabaAccountId: string, name: string, language: string): Template | undefined
  list(wabaAccountId?: string): Template[]
}

/** The templates by id and by account, name and language. */
export function createTemplateBook(templates: Template[]): TemplateBook {
  const byId = new Map<string, Template>()
  const byName = new Map<string, Template>()
  const nameOf = (account: string, name: string, language: string) => `${account}/${name}/${language}`
  const book: TemplateBook = {
    add: (template) => {
      const { id, name, language } = template.record
      byId.set(id, template)
      byName.set(nameOf(template.wabaAccountId, name, language), template)
    },
    remove: ({ wabaAccountId, record: { id, name, language } }) => {
      byId.delete(id)
      byName.delete(nameOf(wabaAccountId, name, language))
    },
    get: (id) => byId.get(id),
    find: (account, name, language) => byName.get(nameOf(account, name, language)),
    list: (account) => [...byId.values()].filter(({ wabaAccountId }) => !account || wabaAccountId === account),
  }
  for (const template of templates) book.add(template)
  return book
}
