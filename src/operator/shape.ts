import { type Static, type TSchema, Type } from 'typebox'
import { pathId } from '../http/shapes.ts'

export const InCompany = Type.Object({ id: pathId('CompanyId', 'Company id.') })

/** Non-empty, without control characters. */
export const plainText = (options: { maxLength: number; title?: string; description: string }) =>
  Type.String({ minLength: 1, pattern: '^[^\\u0000-\\u001f\\u007f]*$', ...options })

/** Printable without spaces, for use in a header. */
export const secretText = (options: { maxLength: number; title?: string; description: string }) =>
  Type.String({ minLength: 1, pattern: '^[\\u0021-\\u007e]*$', ...options })

/** A single `type` keyword reports a fault once, not per alternative. */
export const orNull = <Shape extends TSchema & { type: string }>(shape: Shape) =>
  Type.Unsafe<Static<Shape> | null>({ ...shape, type: [shape.type, 'null'] })
