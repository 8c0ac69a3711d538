import { type AppError, templateNotApproved, templateNotFound } from '../platform/errors.ts'
import type { TemplateComponent } from '../providers/provider.ts'

export type TemplateStatus = 'APPROVED' | 'PENDING' | 'REJECTED' | 'DISABLED'

export type Template = {
  readonly familyId: string
  readonly name: string
  readonly language: string
  readonly status: TemplateStatus
  readonly category: string
  readonly parameterFormat: 'POSITIONAL' | 'NAMED'
  readonly components: readonly TemplateComponent[]
}

const STATUSES: ReadonlyMap<string, TemplateStatus> = new Map([
  ['APPROVED', 'APPROVED'],
  ['REINSTATED', 'APPROVED'],
  ['UNARCHIVED', 'APPROVED'],
  ['PENDING', 'PENDING'],
  ['IN_APPEAL', 'PENDING'],
  ['CREATED', 'PENDING'],
  ['SUBMITTED', 'PENDING'],
  ['REJECTED', 'REJECTED'],
  ['FAILED', 'REJECTED'],
  ['PAUSED', 'DISABLED'],
  ['DISABLED', 'DISABLED'],
  ['ARCHIVED', 'DISABLED'],
  ['PENDING_DELETION', 'DISABLED'],
  ['DELETED', 'DISABLED'],
  ['LIMIT_EXCEEDED', 'DISABLED'],
])

/** Maps the provider's status; undefined if ours does not change (spec: template `status`). */
export const templateStatusOf = (providerStatus: string): TemplateStatus | undefined =>
  STATUSES.get(providerStatus.toUpperCase())

/** `en-US`, `en_US` and `en_us` are the same language. */
export const normalLanguage = (language: string): string => language.replaceAll('-', '_').toLowerCase()

/**
 * Prefers the requested version, else the only one, else the oldest approved one (decisions: WhatsApp send).
 * @throws {AppError} 404 `template_not_found` with the existing languages; 422 `template_not_approved`
 */
export function chooseVersion(versions: readonly Template[], languageCode: string | undefined): Template {
  const chosen = languageCode === undefined ? defaultVersion(versions) : versionIn(versions, languageCode)
  if (chosen === undefined) throw notFound(versions)
  if (chosen.status !== 'APPROVED') throw templateNotApproved(chosen.name, chosen.status)
  return chosen
}

const defaultVersion = (versions: readonly Template[]): Template | undefined =>
  versions.find((version) => version.status === 'APPROVED') ?? versions[0]

const versionIn = (versions: readonly Template[], languageCode: string): Template | undefined =>
  versions.find((version) => normalLanguage(version.language) === normalLanguage(languageCode))

const notFound = (versions: readonly Template[]): AppError =>
  templateNotFound(versions.length > 0 ? { languages: versions.map((version) => version.language) } : undefined)

const PLACEHOLDER = /\{\{\s*([^{}\s]+)\s*\}\}/g

/** Returns unique placeholders: named ones in order of appearance, positional ones as `1`…`n`. */
export function placeholdersOf(text: string, format: 'POSITIONAL' | 'NAMED'): string[] {
  const names = [...new Set([...text.matchAll(PLACEHOLDER)].map((match) => match[1] ?? ''))]
  return format === 'NAMED' ? names : names.sort((a, b) => Number(a) - Number(b))
}

export const fillPlaceholders = (text: string, values: ReadonlyMap<string, string>): string =>
  text.replace(PLACEHOLDER, (whole, name: string) => values.get(name) ?? whole)
