import { hostname } from 'node:os'
import { VERSION } from '../platform/version.ts'

/** PostgreSQL truncates longer names. */
const MAX_BYTES = 63
const MAX_PREFIX = 12

/** Returns this process's session name, by which a breaking migration finds other versions. */
export function sessionName(prefix = 'parley'): string {
  const [start, end] = [`${wordOf(prefix, MAX_PREFIX)} ${VERSION} `, `:${process.pid}`]
  return `${start}${wordOf(hostname(), MAX_BYTES - start.length - end.length)}${end}`
}

const wordOf = (text: string, length: number): string => text.replaceAll(/[^!-~]/g, '_').slice(0, length)
