import { isObject } from './events/json-member.ts'

/** Parses a JSON object; undefined for HTML, truncated or other bodies. */
export function readJsonObject(body: Buffer): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(body.toString('utf8'))
    return isObject(value) ? value : undefined
  } catch {
    return undefined
  }
}
