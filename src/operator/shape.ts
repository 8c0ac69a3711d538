import { type Static, type TSchema, Type } from 'typebox'
import { pathId } from '../http/shapes.ts'

export const InCompany = Type.Object({ id: pathId('CompanyId', 'The id of the company.') })

/** A line of text: not empty, without control characters. */
export const plainText = (options: { maxLength: number; title?: string; description: string }) =>
  Type.String({ minLength: 1, pattern: '^[^\\u0000-\\u001f\\u007f]*$', ...options })

/** A credential as it goes into a header: printable, without blanks. */
export const secretText = (options: { maxLength: number; title?: string; description: string }) =>
  Type.String({ minLength: 1, pattern: '^[\\u0021-\\u007e]*$', ...options })

/** The same value, or null: with one type keyword, so that a fault is reported once and not for each alternative. */
export const orNull = <Shape extends TSchema & { type: string }>(shape: Shape) =>
  Type.Unsafe<Static<Shape> | null>({ ...shape, type: [shape.type, 'null'] })
