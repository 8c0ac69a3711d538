import { type FieldFault, validationError } from '../errors.ts'
import type { ProviderName } from '../providers/provider-name.ts'
import { parseSenderPhone, type SenderCipher } from './sender.ts'
import type { SenderValues } from './sender-store.ts'

/** The settings of a number; null removes an optional value. */
export type SenderChange = {
  provider?: ProviderName
  phoneNumber?: string
  phoneName?: string
  phoneNumberId?: string
  wabaAccountId?: string
  accessToken?: string
  appSecret?: string | null
  webhookSecret?: string | null
  apiBaseUrl?: string | null
  appId?: string | null
  appName?: string | null
  portfolioId?: string | null
  isPreferred?: boolean
  tier?: number | null
  dailyLimit?: number | null
  throughputPerSecond?: number | null
}

/** The values to connect a number. If name or phone number are absent, the provider is asked. */
export type NewSender = SenderChange & {
  provider: ProviderName
  phoneNumberId: string
  wabaAccountId: string
  accessToken: string
}

export type SenderInput = { -readonly [Name in keyof SenderValues]?: SenderValues[Name] }

/** Parses the settings for storage; 422 names every wrong value. */
export function parseInput(given: SenderChange, cipher: SenderCipher, faults: FieldFault[] = []): SenderInput {
  const values = readInput(given, cipher, faults)
  if (faults.length > 0) throw validationError(faults)
  return values
}

/** Faults of the settings beyond their shape. */
export function senderFaults(given: SenderChange, cipher: SenderCipher): FieldFault[] {
  const faults: FieldFault[] = []
  readInput(given, cipher, faults)
  return faults
}

function readInput(given: SenderChange, cipher: SenderCipher, faults: FieldFault[]): SenderInput {
  const values: SenderInput = { ...plainValues(given) }
  if (given.phoneNumber !== undefined) Object.assign(values, parsePhone(given.phoneNumber, faults))
  for (const path of ['phoneName', 'phoneNumberId', 'wabaAccountId'] as const) {
    if (given[path] !== undefined) values[path] = parseText(path, given[path], faults)
  }
  for (const path of ['appId', 'appName', 'portfolioId'] as const) {
    if (given[path] !== undefined) values[path] = given[path] === null ? null : parseText(path, given[path], faults)
  }
  if (given.accessToken !== undefined) values.accessToken = cipher.encrypt(given.accessToken)
  for (const path of ['appSecret', 'webhookSecret'] as const) {
    if (given[path] !== undefined) values[path] = given[path] === null ? null : cipher.encrypt(given[path])
  }
  if (given.apiBaseUrl !== undefined) values.apiBaseUrl = parseBaseUrl(given.apiBaseUrl, faults)
  return values
}

function plainValues({ provider, tier, dailyLimit, throughputPerSecond }: SenderChange): SenderInput {
  return {
    ...(provider !== undefined && { provider }),
    ...(tier !== undefined && { tier }),
    ...(dailyLimit !== undefined && { dailyLimit }),
    ...(throughputPerSecond !== undefined && { throughputPerSecond }),
  }
}

function parsePhone(given: string, faults: FieldFault[]): { phoneNumber: string; phone: string } {
  const phone = parseSenderPhone(given)
  if (phone === undefined) faults.push({ path: 'phoneNumber', message: 'must hold 7 to 15 digits and no letters' })
  return { phoneNumber: given.trim(), phone: phone ?? '' }
}

function parseText(path: string, given: string, faults: FieldFault[]): string {
  const text = given.trim()
  if (text === '') faults.push({ path, message: 'must not be blank' })
  return text
}

/** Kept without a slash at the end, because the provider's paths begin with one. */
function parseBaseUrl(given: string | null, faults: FieldFault[]): string | null {
  if (given === null) return null
  const url = URL.parse(given)
  const usable = url !== null && /^https?:$/.test(url.protocol) && url.username === '' && url.password === ''
  if (!usable || /[?#\s]/.test(given)) {
    faults.push({ path: 'apiBaseUrl', message: 'must be an http or https address without query or credentials' })
  }
  return given.replace(/\/+$/, '')
}
