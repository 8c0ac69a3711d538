import type { FastifyContextConfig } from 'fastify'
import type { FieldFault } from '../../platform/errors.ts'
import { memberOf } from '../../platform/text/json-text.ts'
import { type Faults, MAX_FAULTS, type RequestFault } from './fault.ts'

type OwnFault = FieldFault & { readonly kind?: 'shape' | 'value' }

declare module 'fastify' {
  interface FastifyContextConfig {
    /**
     * Finds faults beyond the schema. Called for bodies that fail the schema, to report all faults at once. `body` has
     * only the valid members; `original` is as sent, to tell missing from invalid.
     */
    valueFaults?(body: object, original: object): readonly OwnFault[] | Promise<readonly OwnFault[]>
  }
}

export async function withOwnFaults(
  { faults, isComplete }: Faults,
  body: unknown,
  find: NonNullable<FastifyContextConfig['valueFaults']>,
): Promise<RequestFault[]> {
  // With unlisted faults, the remaining members may be invalid too.
  const fitting = isComplete ? withoutFaulty(body, faults) : undefined
  if (fitting === undefined || typeof body !== 'object' || body === null) return [...faults]
  const own = (await find(fitting, body)).map(({ path, message, kind = 'value' }) => ({
    path,
    message,
    kind,
    keyword: 'own',
    pointer: undefined,
  }))
  const named = new Map(own.map((fault) => [fault.path, fault]))
  // A missing member is always a 400, whatever else is wrong.
  const others = faults.filter(
    ({ path, kind }) => named.get(path)?.kind !== 'shape' && (kind === 'shape' || !named.has(path)),
  )
  return [...others, ...own].slice(0, MAX_FAULTS)
}

function withoutFaulty(body: unknown, faults: readonly RequestFault[]): object | undefined {
  const copy: unknown = structuredClone(body)
  for (const { pointer } of faults) {
    if (pointer === undefined) continue
    if (pointer === '') return undefined
    removeAt(copy, pointer.slice(1).split('/'))
  }
  return typeof copy === 'object' && copy !== null ? copy : undefined
}

function removeAt(root: unknown, steps: readonly string[]): void {
  let parent = root
  for (const step of steps.slice(0, -1)) parent = memberOf(parent, fromPointer(step))
  const last = steps.at(-1)
  if (typeof parent === 'object' && parent !== null && last !== undefined)
    Reflect.deleteProperty(parent, fromPointer(last))
}

const fromPointer = (step: string): string => step.replaceAll('~1', '/').replaceAll('~0', '~')
