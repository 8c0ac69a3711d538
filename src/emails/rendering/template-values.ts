import { type FieldFault, parameterMismatch, validationError } from '../../platform/errors.ts'
import { UNSUBSCRIBE_URL, type VariableUse } from './template-variables.ts'

export type TextValue = string | number | boolean
type ItemValue = Readonly<Record<string, TextValue | null>>
export type Values = Readonly<Record<string, TextValue | readonly ItemValue[]>>

/** Checks template values (decisions: Mail). 422; `parameter_mismatch` for missing variables if `isStrict`. */
export function checkValues(uses: readonly VariableUse[], values: Values, isStrict: boolean): void {
  const faults = uses.flatMap((use) => kindFaults(use, values))
  if (UNSUBSCRIBE_URL in values) faults.push(faultAt(UNSUBSCRIBE_URL, 'is filled in by the service'))
  if (faults.length > 0) throw validationError(faults)
  const missing = isStrict ? uses.flatMap((use) => missingValues(use, values)) : []
  if (missing.length > 0) {
    throw parameterMismatch(
      { missing: [...new Set(missing)] },
      `Values are missing: ${[...new Set(missing)].join(', ')}`,
    )
  }
}

const faultAt = (name: string, message: string): FieldFault => ({ path: `customFields.${name}`, message })

function kindFaults({ texts, lists }: VariableUse, values: Values): FieldFault[] {
  const isList = (name: string) => Array.isArray(givenValue(values, name))
  return [
    ...texts.filter(isList).map((name) => faultAt(name, 'must not be a list: the template writes it as a text')),
    ...Object.keys(lists)
      .filter((name) => givenValue(values, name) !== undefined && !isList(name))
      .map((name) => faultAt(name, 'must be a list of items: the template reads its items')),
  ]
}

function missingValues({ names, lists }: VariableUse, values: Values): string[] {
  const absent = names.filter((name) => name !== UNSUBSCRIBE_URL && givenValue(values, name) === undefined)
  const members = Object.entries(lists).flatMap(([name, read]) => {
    const items = givenValue(values, name)
    return Array.isArray(items)
      ? items.flatMap((item, place) =>
          read.filter((member) => !Object.hasOwn(item, member)).map((member) => `${name}[${place}].${member}`),
        )
      : []
  })
  return [...absent, ...members]
}

const givenValue = (values: Values, name: string) => (Object.hasOwn(values, name) ? values[name] : undefined)
