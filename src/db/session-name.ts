import { hostname } from 'node:os'
import { VERSION } from '../version.ts'

/** PostgreSQL cuts names of sessions here. */
const MAX_BYTES = 63
const MAX_PREFIX = 12

/**
 * The name of this process's sessions, by which a breaking migration finds processes of other versions. Its first word, `parley` or
 * the application_name of DATABASE_URL, is that of all processes of the service.
 */
export function sessionName(prefix = 'parley'): string {
  const [start, end] = [`${wordOf(prefix, MAX_PREFIX)} ${VERSION} `, `:${process.pid}`]
  return `${start}${wordOf(hostname(), MAX_BYTES - start.length - end.length)}${end}`
}

const wordOf = (text: string, length: number): string => text.replaceAll(/[^!-~]/g, '_').slice(0, length)
