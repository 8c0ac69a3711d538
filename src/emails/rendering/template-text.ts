import { AppError, type FieldFault, validationError } from '../../platform/errors.ts'
import type { PartName, TemplateParts } from './liquid.ts'
import { runMailTask } from './mail-worker.ts'
import type { Values } from './template-values.ts'
import { UNSUBSCRIBE_URL, type VariableUse } from './template-variables.ts'

const TOO_SLOW = 'takes more than 300 ms to fill, or too much memory: make it simpler'

type ExaminedTemplate = {
  variables: string[]
  faults: FieldFault[]
  hasUnsubscribeLink: boolean
}

export async function examineTemplate(
  companyId: number,
  { subject, html, text }: Partial<TemplateParts>,
): Promise<ExaminedTemplate> {
  const parts: [PartName, string | null | undefined][] = [
    ['subject', subject],
    ['html', html],
    ['text', text],
  ]
  const uses = new Map<PartName, VariableUse>()
  const faults: FieldFault[] = []
  for (const [path, source] of parts) {
    if (typeof source !== 'string') continue
    const examined = await runMailTask(companyId, 'examine', { path, source })
    if (examined === 'too-slow') faults.push({ path, message: TOO_SLOW })
    else {
      uses.set(path, examined.use)
      faults.push(...examined.faults)
    }
  }
  const variables = new Set([...uses.values()].flatMap(({ names }) => names))
  variables.delete(UNSUBSCRIBE_URL)
  return {
    variables: [...variables],
    faults: [...faults, ...conflicts(uses)],
    hasUnsubscribeLink: uses.get('html')?.names.includes(UNSUBSCRIBE_URL) ?? false,
  }
}

/** No value fits a variable used as text in one part and as a list in another. */
const conflicts = (uses: ReadonlyMap<PartName, VariableUse>): FieldFault[] =>
  [...uses].flatMap(([path, { texts }]) =>
    texts
      .filter((name) => [...uses].some(([other, { lists }]) => other !== path && name in lists))
      .map((name) => ({ path, message: `uses \`${name}\` as a text, and another part as a list` })),
  )

/** Renders a template in the worker. 422 as `renderTemplate`, and on its time or memory limit. */
export async function fillTemplate(
  companyId: number,
  { subject, html, text }: TemplateParts,
  values: Values,
  isStrict = false,
): Promise<TemplateParts> {
  const outcome = await runMailTask(companyId, 'render', { parts: { subject, html, text }, values, isStrict })
  if (outcome === 'too-slow')
    throw validationError([{ path: 'customFields', message: `cannot fill it: it ${TOO_SLOW}` }])
  if (outcome.refusal) throw new AppError(outcome.refusal.status, outcome.refusal.body)
  return outcome.rendered
}
