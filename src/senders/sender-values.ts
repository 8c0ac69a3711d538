import { type FieldFault, validationError } from '../platform/errors.ts'
import type { ProviderName } from '../providers/provider-name.ts'
import { parseSenderPhone, type SenderCipher } from './sender.ts'
import type { MarketingAddress, SenderValues } from './sender-store.ts'

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
  marketingAddress?: MarketingAddress
  directSend?: boolean
}

export type NewSender = SenderChange & {
  provider: ProviderName
  phoneNumberId: string
  wabaAccountId: string
  accessToken: string
}

type SenderInput = { -readonly [Name in keyof SenderValues]?: SenderValues[Name] }

export function parseInput(input: SenderChange, cipher: SenderCipher, faults: FieldFault[] = []): SenderInput {
  const values = readInput(input, cipher, faults)
  if (faults.length > 0) throw validationError(faults)
  return values
}

/** Returns the faults beyond the schema. */
export function senderFaults(input: SenderChange, cipher: SenderCipher): FieldFault[] {
  const faults: FieldFault[] = []
  readInput(input, cipher, faults)
  return faults
}

function readInput(input: SenderChange, cipher: SenderCipher, faults: FieldFault[]): SenderInput {
  const values: SenderInput = { ...plainValues(input) }
  if (input.phoneNumber !== undefined) Object.assign(values, parsePhone(input.phoneNumber, faults))
  for (const path of ['phoneName', 'phoneNumberId', 'wabaAccountId'] as const) {
    if (input[path] !== undefined) values[path] = parseText(path, input[path], faults)
  }
  for (const path of ['appId', 'appName', 'portfolioId'] as const) {
    if (input[path] !== undefined) values[path] = input[path] === null ? null : parseText(path, input[path], faults)
  }
  if (input.accessToken !== undefined) values.accessToken = cipher.encrypt(input.accessToken)
  for (const path of ['appSecret', 'webhookSecret'] as const) {
    if (input[path] !== undefined) values[path] = input[path] === null ? null : cipher.encrypt(input[path])
  }
  if (input.apiBaseUrl !== undefined) values.apiBaseUrl = parseBaseUrl(input.apiBaseUrl, faults)
  return values
}

function plainValues(input: SenderChange): SenderInput {
  const { provider, tier, dailyLimit, throughputPerSecond, marketingAddress, directSend } = input
  return {
    ...(provider !== undefined && { provider }),
    ...(tier !== undefined && { tier }),
    ...(dailyLimit !== undefined && { dailyLimit }),
    ...(throughputPerSecond !== undefined && { throughputPerSecond }),
    ...(marketingAddress !== undefined && { marketingAddress }),
    ...(directSend !== undefined && { directSend }),
  }
}

function parsePhone(input: string, faults: FieldFault[]): { phoneNumber: string; phone: string } {
  const phone = parseSenderPhone(input)
  if (phone === undefined) faults.push({ path: 'phoneNumber', message: 'must hold 7 to 15 digits and no letters' })
  return { phoneNumber: input.trim(), phone: phone ?? '' }
}

function parseText(path: string, input: string, faults: FieldFault[]): string {
  const text = input.trim()
  if (text === '') faults.push({ path, message: 'must not be blank' })
  return text
}

function parseBaseUrl(input: string | null, faults: FieldFault[]): string | null {
  if (input === null) return null
  const url = URL.parse(input)
  const usable = url !== null && /^https?:$/.test(url.protocol) && url.username === '' && url.password === ''
  if (!usable || /[?#\s]/.test(input)) {
    faults.push({ path: 'apiBaseUrl', message: 'must be an http or https address without query or credentials' })
  }
  return input.replace(/\/+$/, '')
}
