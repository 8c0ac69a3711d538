import type { FieldFault } from '../errors.ts'

export const MAX_DEPTH = 32

/**
 * Lists what PostgreSQL or JSON can't store, keys included: NUL, lone surrogates, numbers beyond a double, deep
 * nesting.
 */
export function textFaults(value: unknown, path: string, depth = 0): FieldFault[] {
  if (typeof value === 'string') return stringFaults(value, path)
  if (typeof value === 'number' && !Number.isFinite(value)) return [{ path, message: 'must be a finite number' }]
  if (typeof value !== 'object' || value === null) return []
  if (depth >= MAX_DEPTH) return [{ path, message: `must not nest deeper than ${MAX_DEPTH} levels` }]
  return Object.entries(value).flatMap(([key, member]) => [
    ...stringFaults(key, `${path}.${showKey(key)}`),
    ...textFaults(member, `${path}.${showKey(key)}`, depth + 1),
  ])
}

function stringFaults(text: string, path: string): FieldFault[] {
  if (text.includes('\u0000')) return [{ path, message: 'must not contain NUL (U+0000)' }]
  if (!text.isWellFormed()) return [{ path, message: 'must not contain an unpaired surrogate (U+D800 to U+DFFF)' }]
  return []
}

const showKey = (key: string): string => key.replaceAll('\u0000', '\uFFFD').toWellFormed()
