/** `recipient` of a send: a phone number in E.164, with or without `+` (decisions: WhatsApp send). */
export const E164 = /^\+?[1-9][0-9]{6,14}$/

/** A provider's user id for a customer who hides the phone, such as `US.13491208655302741918`. */
export const USER_ID = /^[A-Z]{2}\.[A-Za-z0-9.]{1,128}$/

export const digitsOf = (text: string): string => text.replace(/[^0-9]/g, '')

/**
 * The identity of a phone number: equal for all ways in which one line is written, and never dialled.
 * Brazil's ninth digit, Mexico's 521 and Argentina's 549 are dropped, because providers report such numbers
 * now with and now without them.
 */
export function phoneIdentity(digits: string): string {
  if (/^55[0-9]{2}9[0-9]{8}$/.test(digits)) return digits.slice(0, 4) + digits.slice(5)
  if (/^521[0-9]{10}$/.test(digits)) return `52${digits.slice(3)}`
  if (/^549[0-9]{10}$/.test(digits)) return `54${digits.slice(3)}`
  return digits
}

/** The identity of a customer by whatever the provider or the caller names him: a phone number or a user id. */
export const customerIdentity = (phoneOrUserId: string): string =>
  USER_ID.test(phoneOrUserId) ? phoneOrUserId : phoneIdentity(digitsOf(phoneOrUserId))
