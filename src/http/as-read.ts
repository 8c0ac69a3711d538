import { isDeepStrictEqual } from 'node:util'
import { type TSchema, Type } from 'typebox'
import type { FieldFault } from '../platform/errors.ts'
import { memberOf } from '../platform/text/json-text.ts'

export const AS_READ = 'is set by the service: leave it out, or give it as it was read'

/** Whether a value equals the recorded one. Timestamps compare as instants. */
export const isAsRead = (value: unknown, recorded: unknown): boolean =>
  isDeepStrictEqual(value, recorded) ||
  (typeof value === 'string' && typeof recorded === 'string' && Date.parse(value) === Date.parse(recorded))

export const asRead = (shape: TSchema) => Type.Optional(Type.Unsafe<unknown>({ ...shape, 'x-as-read': true }))

/** Returns the changed members, and faults for read-only ones among them. */
export function changedMembers<Body extends object>(
  body: Body,
  record: object,
  readOnly: readonly string[],
): { changes: Partial<Body>; faults: FieldFault[] } {
  const changes: Partial<Body> = { ...body }
  const faults: FieldFault[] = []
  for (const [path, value] of Object.entries(body)) {
    const isChanged = !isAsRead(value, memberOf(record, path))
    if (isChanged && readOnly.includes(path)) faults.push({ path, message: AS_READ })
    if (!isChanged || readOnly.includes(path)) Reflect.deleteProperty(changes, path)
  }
  return { changes, faults }
}
