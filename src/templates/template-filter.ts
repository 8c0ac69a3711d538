import { type Static, Type } from 'typebox'
import { fold } from '../platform/text/search-text.ts'
import type { TemplateRow } from './template-store.ts'

export const TemplateFilter = Type.Object({
  status: Type.Optional(
    Type.Enum(['APPROVED', 'PENDING', 'REJECTED', 'DISABLED'], { description: 'Only templates with this status.' }),
  ),
  category: Type.Optional(
    Type.Enum(['UTILITY', 'AUTHENTICATION', 'MARKETING'], { description: 'Only templates of this category.' }),
  ),
  language: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 16,
      description: 'Only templates in this language; `en_US`, `en-US` and `en_us` are the same.',
    }),
  ),
  search: Type.Optional(
    Type.String({
      maxLength: 200,
      description: "Part of the template's name or text, ignoring case and accents.",
    }),
  ),
})
export type TemplateFilter = Static<typeof TemplateFilter>

export function passesFilter(
  template: TemplateRow,
  { status, category, language, search = '' }: TemplateFilter,
): boolean {
  if (status !== undefined && template.status !== status) return false
  if (category !== undefined && template.category !== category) return false
  if (language !== undefined && languageKey(template.language) !== languageKey(language)) return false
  const texts = [template.name, ...template.components.map(({ text = '' }) => text)]
  return texts.some((text) => fold(text).includes(fold(search)))
}

const languageKey = (language: string): string => language.toLowerCase().replaceAll('-', '_')
