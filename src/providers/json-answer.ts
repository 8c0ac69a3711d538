import { isObject } from './events/json-member.ts'

/** The JSON object of an answer, or undefined when it is none: answers may be HTML, cut off, or not JSON at all. */
export function readJsonObject(body: Buffer): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(body.toString('utf8'))
    return isObject(value) ? value : undefined
  } catch {
    return undefined
  }
}
