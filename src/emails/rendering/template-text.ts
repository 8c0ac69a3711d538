import { AppError, type FieldFault, validationError } from '../../errors.ts'
import type { PartName, TemplateParts, Values } from './liquid.ts'
import { runMailTask } from './mail-worker.ts'

const TOO_SLOW = 'takes more than 300 ms to fill, or too much memory: make it simpler'

/** The variables of a template in the order of their first appearance, and its faults; absent parts are not checked. */
export async function examineTemplate(
  companyId: number,
  { subject, html, text }: Partial<TemplateParts>,
): Promise<{ variables: string[]; faults: FieldFault[] }> {
  const parts: [PartName, string | null | undefined][] = [
    ['subject', subject],
    ['html', html],
    ['text', text],
  ]
  const variables: string[] = []
  const faults: FieldFault[] = []
  for (const [path, source] of parts) {
    if (typeof source !== 'string') continue
    const examined = await runMailTask(companyId, 'examine', { path, source })
    if (examined === 'too-slow') faults.push({ path, message: TOO_SLOW })
    else {
      variables.push(...examined.variables)
      faults.push(...examined.faults)
    }
  }
  return { variables: [...new Set(variables)], faults }
}

/** Fills a template, see `renderTemplate`. 422 when it would take too much time or memory. */
export async function fillTemplate(
  companyId: number,
  { subject, html, text }: TemplateParts,
  values: Values,
): Promise<TemplateParts> {
  const outcome = await runMailTask(companyId, 'render', { parts: { subject, html, text }, values })
  if (outcome === 'too-slow')
    throw validationError([{ path: 'customFields', message: `cannot fill it: it ${TOO_SLOW}` }])
  if (outcome.refusal) throw new AppError(outcome.refusal.status, outcome.refusal.body)
  return outcome.rendered
}
