import ipaddr from 'ipaddr.js'

const OLDEST_GRAPH_VERSION = 22

type Source = { env: Record<string, string | undefined>; faults: string[] }

export type SettingReader = ReturnType<typeof createSettingReader>

/** Blank values count as absent. Invalid ones add a fault and read as the default, so one run finds all faults. */
export function createSettingReader(env: Source['env'], faults: string[]) {
  const source = { env, faults }
  return { ...wordReaders(source), ...numberReaders(source), ...secretReaders(source), ...addressReaders(source) }
}

function optional({ env }: Source, name: string): string | undefined {
  const value = env[name]?.trim()
  return value === undefined || value === '' ? undefined : value
}

const listOf = (source: Source, name: string): string[] =>
  (optional(source, name) ?? '')
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '')

function wordReaders(source: Source) {
  const { faults } = source
  return {
    optional: (name: string): string | undefined => optional(source, name),

    text: (name: string, fallback: string): string => optional(source, name) ?? fallback,

    oneOf: <T extends string>(name: string, allowed: readonly T[], fallback: T): T => {
      const value = optional(source, name)
      if (value === undefined) return fallback
      const found = allowed.find((choice) => choice === value)
      if (found === undefined) faults.push(`${name} must be one of ${allowed.join(', ')}, not ${value}`)
      return found ?? fallback
    },

    matching: (name: string, fallback: string, pattern: RegExp, rule: string): string => {
      const value = optional(source, name) ?? fallback
      if (pattern.test(value)) return value
      faults.push(`${name} must be ${rule}`)
      return fallback
    },

    graphVersion: (name: string, fallback: string): string => {
      const value = optional(source, name) ?? fallback
      const major = /^v([0-9]{1,3})\.[0-9]$/.exec(value)?.[1]
      if (major !== undefined && Number(major) >= OLDEST_GRAPH_VERSION) return value
      faults.push(`${name} must be a Graph API version of at least v${OLDEST_GRAPH_VERSION}.0, such as v25.0`)
      return fallback
    },
  }
}

function numberReaders(source: Source) {
  const { faults } = source
  const integer = (name: string, fallback: number, min: number, max: number): number => {
    const value = optional(source, name)
    if (value === undefined) return fallback
    const number = /^[0-9]{1,9}$/.test(value) ? Number(value) : Number.NaN
    if (number >= min && number <= max) return number
    faults.push(`${name} must be a whole number from ${min} to ${max}, not ${value}`)
    return fallback
  }
  return {
    integer,

    decimal: (name: string, fallback: number, min: number, max: number): number => {
      const value = optional(source, name)
      if (value === undefined) return fallback
      const number = /^[0-9]{1,9}(\.[0-9]{1,4})?$/.test(value) ? Number(value) : Number.NaN
      if (number >= min && number <= max) return number
      faults.push(`${name} must be a number from ${min} to ${max}, not ${value}`)
      return fallback
    },

    optionalInteger: (name: string, min: number, max: number): number | undefined =>
      optional(source, name) === undefined ? undefined : integer(name, min, min, max),

    date: (name: string, fallback: string): Date => {
      const value = optional(source, name) ?? fallback
      const midnight = new Date(`${value}T00:00:00Z`)
      if (/^[0-9]{4}-[0-9]{2}-[0-9]{2}$/.test(value) && midnight.toJSON()?.startsWith(value)) return midnight
      faults.push(`${name} must be a date such as ${fallback}, not ${value}`)
      return new Date(`${fallback}T00:00:00Z`)
    },
  }
}

/** Faults must not repeat the value. */
function secretReaders(source: Source) {
  const { faults } = source
  return {
    secret: (name: string, minLength: number): string | undefined => {
      const value = optional(source, name)
      if (value !== undefined && value.length < minLength)
        faults.push(`${name} must have at least ${minLength} characters`)
      return value
    },

    encryptionKeys: (name: string): string[] => {
      const keys = listOf(source, name)
      if (keys.some((key) => Buffer.from(key, 'base64').length !== 32)) {
        faults.push(`${name} must be 32 bytes in base64; several separated by commas, the first one encrypts`)
      }
      return keys
    },

    bucketUrl: (name: string): string | undefined => {
      const value = optional(source, name)
      const parsed = value === undefined ? undefined : URL.parse(value)
      if (parsed === undefined) return undefined
      const isWhole =
        parsed !== null &&
        /^https?:$/.test(parsed.protocol) &&
        /^\/[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]\/?$/.test(parsed.pathname) &&
        (parsed.username === '') === (parsed.password === '')
      if (isWhole) return value
      faults.push(`${name} must be https://KEY:SECRET@HOST/BUCKET?region=REGION, key and secret percent-encoded`)
      return undefined
    },
  }
}

function addressReaders(source: Source) {
  const { faults } = source
  return {
    /** May contain a password: the fault must not repeat the value. */
    url: (name: string, protocols: readonly string[]): string | undefined => {
      const value = optional(source, name)
      if (value === undefined) return undefined
      if (hasRawHash(value)) {
        faults.push(`${name} ${RAW_HASH}`)
        return undefined
      }
      // `URL` can't parse several database hosts; the first stands for all.
      const parsed = URL.parse(value.replace(/,[^/?]*/, ''))
      if (parsed !== null && protocols.includes(parsed.protocol)) return value
      faults.push(`${name} must be an address that starts with ${protocols.map((one) => `${one}//`).join(' or ')}`)
      return undefined
    },

    addresses: (name: string): string[] => {
      const list = listOf(source, name)
      for (const item of list) {
        if (!ipaddr.isValid(item) && !ipaddr.isValidCIDR(item))
          faults.push(`${name}: ${item} is no address and no CIDR`)
      }
      return list
    },

    hostName: (name: string): string | undefined => {
      const value = optional(source, name)?.toLowerCase()
      if (value === undefined || /^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$/.test(value)) return value
      faults.push(`${name} must be a host name without scheme, port or path, not ${value}`)
      return undefined
    },
  }
}

/** Everything after a raw `#` in a password would be cut off. */
export const RAW_HASH = 'has a # before its host: write %23 for a # in a user name or password'

export const hasRawHash = (address: string): boolean => /^[a-z][a-z0-9+.-]*:\/\/[^/?]*#.*@/i.test(address)
