import { parseReportToken, type ReportToken } from '../tracking/tracking-token.ts'

const LOCAL_PART = 'bounce+'

export const returnPath = (domain: string, token: string): string => `${LOCAL_PART}${token}@${domain}`

export function readReturnPath(domain: string, address: string): ReportToken | undefined {
  const [local = '', host, ...rest] = address.toLowerCase().split('@')
  if (host !== domain.toLowerCase() || rest.length > 0 || !local.startsWith(LOCAL_PART)) return undefined
  return parseReportToken(local.slice(LOCAL_PART.length))
}
