import type { ErrorObject } from 'ajv'
import type { FieldFault } from '../../platform/errors.ts'
import { unknownName } from '../../platform/text/closest-name.ts'
import { NO_INSTANT } from '../../platform/text/instant.ts'
import { memberOf } from '../../platform/text/json-text.ts'

/** `shape` faults are answered 400, `value` faults 422 (decisions: Statuses). */
export type RequestFault = FieldFault & {
  readonly kind: 'shape' | 'value'
  /** JSON Schema keyword, such as `required`, `minLength` or `pattern`. */
  readonly keyword: string
  /** JSON pointer to the value; undefined for a missing or unknown member. */
  readonly pointer: string | undefined
}

export const MAX_FAULTS = 100
// Maximum number of validation errors to inspect; a union reports several per fault.
const MAX_ERRORS = 1_000

const UNIONS = new Set(['anyOf', 'oneOf'])
const SHAPE_KEYWORDS = new Set(['required', 'minProperties', 'dependentRequired', 'dependencies', 'not'])

/** `isComplete`: all other values of the request are valid. */
export type Faults = { readonly faults: readonly RequestFault[]; readonly isComplete: boolean }

/** Converts Ajv errors to at most 100 field faults, shape faults first, one per field and rule. */
export function toFaults(errors: readonly ErrorObject[]): Faults {
  const inspected = errors.slice(0, MAX_ERRORS)
  const known = knownNames(inspected)
  const faults = withoutBranches(inspected).map((error) => toFault(error, known))
  const unique = new Map(faults.map((fault) => [`${fault.path}\n${fault.message}`, fault]))
  const sorted = [...unique.values()].sort((one, other) => order(one) - order(other))
  return {
    faults: sorted.slice(0, MAX_FAULTS),
    isComplete: errors.length <= MAX_ERRORS && sorted.length <= MAX_FAULTS,
  }
}

const order = (fault: RequestFault): number => (fault.kind === 'shape' ? 0 : 1)

/** `/messages/3/text` → `messages[3].text`; `child` is a member of that value. */
export function toPath(pointer: string, child?: string): string {
  const steps = pointer === '' ? [] : pointer.slice(1).split('/')
  return [
    ...steps.map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~')),
    ...(child === undefined ? [] : [child]),
  ]
    .map((step, place) => (/^[0-9]+$/.test(step) ? `[${step}]` : place === 0 ? step : `.${step}`))
    .join('')
}

function toFault(error: ErrorObject, known: KnownNames): RequestFault {
  const child = childOf(error)
  return {
    path: toPath(error.instancePath, child) || 'body',
    message:
      error.keyword === 'additionalProperties' && child !== undefined
        ? unknownName(child, known.get(error.instancePath) ?? [])
        : messageOf(error),
    pointer: child === undefined ? error.instancePath : undefined,
    keyword: error.keyword,
    kind: isShape(error) ? 'shape' : 'value',
  }
}

type KnownNames = ReadonlyMap<string, ReadonlySet<string>>

function knownNames(errors: readonly ErrorObject[]): KnownNames {
  const known = new Map<string, Set<string>>()
  for (const { keyword, instancePath, parentSchema } of errors) {
    if (keyword !== 'additionalProperties') continue
    const names = known.get(instancePath) ?? new Set()
    known.set(instancePath, names)
    for (const name of Object.keys(parentSchema?.properties ?? {})) names.add(name)
  }
  return known
}

function isShape(error: ErrorObject): boolean {
  if (SHAPE_KEYWORDS.has(error.keyword) || isTagMissing(error)) return true
  if (error.keyword === 'oneOf') return error.params.passingSchemas !== null
  return error.instancePath === '' && (error.keyword === 'type' || UNIONS.has(error.keyword))
}

function childOf({ params, keyword }: ErrorObject): string | undefined {
  if (keyword === 'discriminator') return params.tag
  const name = params.missingProperty ?? params.additionalProperty
  return typeof name === 'string' ? name : undefined
}

function messageOf(error: ErrorObject): string {
  const { keyword, params, message, schema } = error
  if (keyword === 'required' || isTagMissing(error)) return 'is required'
  if (keyword === 'dependentRequired') return `is required with ${params.property}`
  if (keyword === 'enum') return `must be one of ${params.allowedValues.join(', ')}`
  if (keyword === 'const') return `must be ${params.allowedValue}`
  if (keyword === 'discriminator') return `must be one of ${tagsOf(error).join(', ')}`
  if (keyword === 'oneOf' && params.passingSchemas !== null) return 'combines members that exclude each other'
  if (UNIONS.has(keyword)) return unionMessage(schema)
  if (keyword === 'format' && params.format === 'date-time') return NO_INSTANT
  return message ?? 'is not valid'
}

const isTagMissing = ({ keyword, params }: ErrorObject): boolean =>
  keyword === 'discriminator' && params.tagValue === undefined

function tagsOf({ parentSchema, params }: ErrorObject): string[] {
  const branches: unknown[] = Array.isArray(parentSchema?.oneOf) ? parentSchema.oneOf : []
  return branches.flatMap((branch) => {
    const tag = memberOf(memberOf(branch, 'properties'), params.tag)
    const values = memberOf(tag, 'enum') ?? [memberOf(tag, 'const')]
    return Array.isArray(values) ? values.map(String) : []
  })
}

/** For simple branches: `must be one of a, b`, `must be string or null`. */
function unionMessage(schema: unknown): string {
  const branches: unknown[] = Array.isArray(schema) ? schema : []
  const names = branches.map((branch) => {
    if (typeof branch !== 'object' || branch === null) return undefined
    if ('const' in branch) return String(branch.const)
    return 'type' in branch ? String(branch.type) : undefined
  })
  const allowed = [...new Set(names.filter((word) => word !== undefined))]
  if (allowed.length === 0) return 'has none of the allowed forms'
  return allowed.length === 1 ? `must be ${allowed[0]}` : `must be one of ${allowed.join(', ')}`
}

/**
 * A failed union reports faults for every branch. Keeps those of the best match, without a wrong type or constant; if
 * all branches differ in one constant, the allowed constants; else only the union's own fault.
 */
function withoutBranches(errors: readonly ErrorObject[]): ErrorObject[] {
  const replaced = new Map<ErrorObject, ErrorObject[]>()
  for (const union of errors) {
    if (!UNIONS.has(union.keyword)) continue
    const inside = errors.filter((error) => error !== union && isBranchOf(union, error))
    const branches = [...Map.groupBy(inside, (error) => branchOf(union, error)).values()]
    const best = bestBranch(union, branches)
    for (const error of inside) if (!best.includes(error)) replaced.set(error, [])
    if (best.length > 0) replaced.set(union, [])
    else replaced.set(union, [commonConstant(branches) ?? union])
  }
  return errors.flatMap((error) => (error.keyword === 'if' ? [] : (replaced.get(error) ?? [error])))
}

const isBranchOf = (union: ErrorObject, error: ErrorObject): boolean =>
  error.schemaPath.startsWith(`${union.schemaPath}/`) && `${error.instancePath}/`.startsWith(`${union.instancePath}/`)

const branchOf = (union: ErrorObject, error: ErrorObject): string =>
  error.schemaPath.slice(union.schemaPath.length + 1).split('/', 1)[0] ?? ''

function bestBranch(union: ErrorObject, branches: ErrorObject[][]): ErrorObject[] {
  const fitting = branches.filter((branch) => !branch.some((error) => isAnotherKind(union, error)))
  fitting.sort((one, other) => one.length - other.length)
  return fitting[0] ?? []
}

function commonConstant(branches: ErrorObject[][]): ErrorObject | undefined {
  const constants = branches.map((branch) => branch.find(({ keyword }) => keyword === 'const'))
  const found = constants.filter((error) => error !== undefined)
  const [first] = found
  if (first === undefined || found.length < branches.length) return undefined
  if (found.some(({ instancePath }) => instancePath !== first.instancePath)) return undefined
  const allowedValues = found.map(({ params }) => params.allowedValue)
  return { ...first, keyword: 'enum', params: { allowedValues } }
}

function isAnotherKind(union: ErrorObject, error: ErrorObject): boolean {
  const isOwnPlace = error.instancePath === union.instancePath
  return (isOwnPlace && error.keyword === 'type') || error.keyword === 'const'
}
