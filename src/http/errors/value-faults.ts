import type { FastifyContextConfig } from 'fastify'
import type { FieldFault } from '../../platform/errors.ts'
import { memberOf } from '../../platform/text/own-member.ts'
import { type Faults, MAX_FAULTS, type RequestFault } from './fault.ts'

/** A fault that a route finds itself: of value unless it says otherwise. */
export type OwnFault = FieldFault & { readonly kind?: 'shape' | 'value' }

declare module 'fastify' {
  interface FastifyContextConfig {
    /**
     * The faults of a body that its shape cannot express. Called when the shape does not fit, so that all faults are
     * named at once: with the members that fit, any other is absent. A body that fits is checked by the handler.
     * `original` is the body as it came: it distinguishes an absent member from one that does not fit.
     */
    valueFaults?(body: object, original: object): readonly OwnFault[] | Promise<readonly OwnFault[]>
  }
}

/** The faults of the shape and those that the route finds: the route's counts where both are about one value. */
export async function withOwnFaults(
  { faults, isComplete }: Faults,
  body: unknown,
  find: NonNullable<FastifyContextConfig['valueFaults']>,
): Promise<RequestFault[]> {
  // With faults that are not known, what is left may not fit either.
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
  // A member that is absent is answered 400 whatever else is wrong with it.
  const others = faults.filter(
    ({ path, kind }) => named.get(path)?.kind !== 'shape' && (kind === 'shape' || !named.has(path)),
  )
  return [...others, ...own].slice(0, MAX_FAULTS)
}

/** A copy of the body without the values at fault; undefined when the body as a whole is at fault. */
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
