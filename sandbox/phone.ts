/** The digits of a phone number in any notation. */
export const digitsOf = (text: string): string => text.replace(/[^0-9]/g, '')

/**
 * The identity under which the provider knows a requested number: the ninth digit of Brazil's older mobile numbers,
 * Mexico's 521 and Argentina's 549 are dropped, so it may differ from the requested one, as in real life.
 */
export function waIdOf(requested: string): string {
  const digits = digitsOf(requested)
  if (/^55[0-9]{2}9[6-9][0-9]{7}$/.test(digits)) return digits.slice(0, 4) + digits.slice(5)
  if (/^521[0-9]{10}$/.test(digits)) return `52${digits.slice(3)}`
  if (/^549[0-9]{10}$/.test(digits)) return `54${digits.slice(3)}`
  return digits
}
