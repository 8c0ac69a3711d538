import { type CountryCode, isPossiblePhoneNumber, Metadata, parsePhoneNumberFromString } from 'libphonenumber-js/core'
import metadata from 'libphonenumber-js/min/metadata'

export type PhoneCountry = CountryCode

type ReadPhone =
  | { readonly digits: string }
  | {
      readonly fault: string
      /** Digits with country code if only their count is wrong for the country. */
      readonly impossible: string | null
    }

const FORMAT_FAULT = 'must be 7 to 15 digits with country code, optionally after a +'
const DECIMAL_FAULT =
  'must not end in a decimal part: a spreadsheet read the number as an amount; format its column as text'

export const PHONE_COUNTRIES: readonly string[] = Object.keys(metadata.countries)

export const isPhoneCountry = (code: string): code is PhoneCountry => code in metadata.countries

export const isBlankPhone = (text: string): boolean => /^[ \-./()]*$/.test(toAscii(text))

/**
 * Ignores separators and invisible characters. Without `+` or `00`, a valid national number in `country` wins over
 * international digits. The result's length must exist in its country.
 */
export function readPhone(text: string, country: PhoneCountry | null = null): ReadPhone {
  const written = toAscii(text)
  if (isDecimal(written)) return refuse(DECIMAL_FAULT)
  const joined = withoutSeparators(written)
  if (joined === undefined) return refuse(FORMAT_FAULT)
  const isInternational = joined.startsWith('+') || joined.startsWith('00')
  const national = country === null || isInternational ? undefined : readNational(joined, country)
  const digits = national ?? withoutTrunkZero(joined.replace(/^(?:\+|00)/, ''))
  const notIn = isInternational ? null : country
  if (!E164.test(digits)) return refuse(notIn === null ? FORMAT_FAULT : `${FORMAT_FAULT}, or valid in ${notIn}`)
  const fault = lengthFault(digits, notIn)
  return fault === undefined ? { digits } : { fault, impossible: digits }
}

const refuse = (fault: string): ReadPhone => ({ fault, impossible: null })

/** Marks a zero alone in parentheses, as in `+44 (0)7700`. */
const TRUNK = 't'

const INVISIBLE = /\p{Default_Ignorable_Code_Point}/gu
const WIDE = /[\uff01-\uff5e]/g
const ARABIC_DIGITS = /[\u0660-\u0669\u06f0-\u06f9]/g
// Minus signs and the Japanese long vowel mark serve as dashes.
const DASHES = /[\p{Pd}\u2212\u02d7\u2043\u30fc\uff70]/gu

const toAscii = (text: string): string =>
  text
    .replace(INVISIBLE, '')
    .replace(WIDE, (sign) => String.fromCharCode(sign.charCodeAt(0) - 0xfee0))
    .replace(ARABIC_DIGITS, (digit) => String(digit.charCodeAt(0) & 0xf))
    .replace(DASHES, '-')
    .replace(/[\p{Z}\s]+/gu, ' ')
    .trim()

/** Such as `447700900100.0`: one dot, followed by zeros or one digit. */
const isDecimal = (text: string): boolean => /^\+?[0-9]{5,}\.(?:0+|[0-9])$/.test(text)

function withoutSeparators(text: string): string | undefined {
  if (!/^[+0-9 \-./()]+$/.test(text) || !areMatched(text)) return undefined
  const joined = text.replace(/\( *0 *\)/g, TRUNK).replace(/[ \-./()]/g, '')
  return joined.lastIndexOf('+') < 1 ? joined : undefined
}

function areMatched(text: string): boolean {
  let open = 0
  for (const character of text) {
    if (character === '(') open += 1
    if (character === ')') open -= 1
    if (open < 0) return false
  }
  return open === 0
}

/** Drops the zero after the calling code, unless part of the number, as in Italy. */
function withoutTrunkZero(joined: string): string {
  const [head = '', ...rest] = joined.split(TRUNK)
  const kept = [head, ...rest].join('0')
  if (rest.length !== 1 || !(head in metadata.country_calling_codes)) return kept
  const number = parsePhoneNumberFromString(`+${kept}`, metadata)
  return number?.number === `+${kept}` && number.isValid() ? kept : [head, ...rest].join('')
}

function readNational(joined: string, country: PhoneCountry): string | undefined {
  const options = { defaultCountry: country, extract: false }
  const number = parsePhoneNumberFromString(joined.replaceAll(TRUNK, '0'), options, metadata)
  if (number === undefined || !number.isValid()) return undefined
  const isHere = metadata.country_calling_codes[number.countryCallingCode]?.includes(country)
  return isHere ? number.number.slice(1) : undefined
}

/** National number lengths by calling code, for its main country. */
const LENGTHS = new Map(
  Object.entries(metadata.country_calling_codes).map(([code, [country = 'US']]) => {
    const plan = new Metadata(metadata)
    plan.selectNumberingPlan(country)
    return [code, { country, lengths: plan.numberingPlan?.possibleLengths() ?? [] }]
  }),
)
const CODE_MAX_LENGTH = 3

/** Providers write a 1 after 52 that the numbering plan no longer has. */
const MEXICAN_MOBILE = /^521[0-9]{10}$/

function lengthFault(digits: string, notIn: PhoneCountry | null): string | undefined {
  const code = [1, 2, CODE_MAX_LENGTH].map((length) => digits.slice(0, length)).find((head) => LENGTHS.has(head))
  const plan = code === undefined ? undefined : LENGTHS.get(code)
  const otherwise = notIn === null ? 'must be' : `is not valid in ${notIn}, and must otherwise be`
  if (code === undefined || plan === undefined) {
    if (isPossiblePhoneNumber(`+${digits}`, metadata)) return undefined
    return `${otherwise} a number with country code: no country has the code of +${digits.slice(0, CODE_MAX_LENGTH)}…`
  }
  const length = digits.length - code.length
  if (plan.lengths.includes(length) || MEXICAN_MOBILE.test(digits)) return undefined
  return `${otherwise} a possible number: read as one of ${plan.country} (+${code}), which has ${anyOf(plan.lengths)} digits after +${code}, not ${length}`
}

const anyOf = (lengths: readonly number[]): string =>
  lengths.length < 2 ? lengths.join() : `${lengths.slice(0, -1).join(', ')} or ${lengths.at(-1)}`

/** A send's `recipient` in E.164, with or without `+` (decisions: WhatsApp send). */
export const E164 = /^\+?[1-9][0-9]{6,14}$/

/** A provider's user id for a customer with a hidden phone, such as `US.13491208655302741918`. */
export const USER_ID = /^[A-Z]{2}\.[A-Za-z0-9.]{1,128}$/

export const digitsOf = (text: string): string => text.replace(/[^0-9]/g, '')

/**
 * An identity is never sent to (decisions: Identity). Drops digits that providers report inconsistently: Mexico's 1
 * after 52, Argentina's 9 after 54, Brazil's ninth digit. In Brazil only mobile lines, starting with 6 to 9, got that
 * digit: `5511934567254` is not the landline `551134567254`.
 */
export function phoneIdentity(digits: string): string {
  if (/^55[0-9]{2}9[6-9][0-9]{7}$/.test(digits)) return digits.slice(0, 4) + digits.slice(5)
  if (/^521[0-9]{10}$/.test(digits)) return `52${digits.slice(3)}`
  if (/^549[0-9]{10}$/.test(digits)) return `54${digits.slice(3)}`
  return digits
}

/** Returns all written phone forms in digits; a user id has one. */
export function writtenForms(identity: string): string[] {
  if (/^55[0-9]{2}[6-9][0-9]{7}$/.test(identity)) return [identity, `${identity.slice(0, 4)}9${identity.slice(4)}`]
  if (/^52[0-9]{10}$/.test(identity)) return [identity, `521${identity.slice(2)}`]
  if (/^54[0-9]{10}$/.test(identity)) return [identity, `549${identity.slice(2)}`]
  return [identity]
}

/** Returns a customer's identity from any phone formatting or user id. */
export const customerIdentity = (phoneOrUserId: string): string =>
  USER_ID.test(phoneOrUserId) ? phoneOrUserId : phoneIdentity(digitsOf(phoneOrUserId))
