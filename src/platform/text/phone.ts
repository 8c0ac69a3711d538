/** `recipient` of a send: a phone number in E.164, with or without `+` (decisions: WhatsApp send). */
export const E164 = /^\+?[1-9][0-9]{6,14}$/

/** A provider's user id for a customer with a hidden phone, such as `US.13491208655302741918`. */
export const USER_ID = /^[A-Z]{2}\.[A-Za-z0-9.]{1,128}$/

/** A phone number without anything but its digits. */
export const digitsOf = (text: string): string => text.replace(/[^0-9]/g, '')

/**
 * The identity of a phone number: equal for all ways in which one line is written, and never sent to (decisions: Identity).
 * Providers report some numbers now with and now without digits that the line does not need: Mexico's 1 after 52,
 * Argentina's 9 after 54, and Brazil's ninth digit. In Brazil only mobile lines took that digit, and the eight digits of a
 * mobile line start with 6 to 9: `5511934567254` is no other way to write the landline `551134567254`.
 */
export function phoneIdentity(digits: string): string {
  if (/^55[0-9]{2}9[6-9][0-9]{7}$/.test(digits)) return digits.slice(0, 4) + digits.slice(5)
  if (/^521[0-9]{10}$/.test(digits)) return `52${digits.slice(3)}`
  if (/^549[0-9]{10}$/.test(digits)) return `54${digits.slice(3)}`
  return digits
}

/** The ways to write the phone number of an identity, in digits; a user id has one. */
export function writtenForms(identity: string): string[] {
  if (/^55[0-9]{2}[6-9][0-9]{7}$/.test(identity)) return [identity, `${identity.slice(0, 4)}9${identity.slice(4)}`]
  if (/^52[0-9]{10}$/.test(identity)) return [identity, `521${identity.slice(2)}`]
  if (/^54[0-9]{10}$/.test(identity)) return [identity, `549${identity.slice(2)}`]
  return [identity]
}

/** The identity of a customer, named by a phone number in any formatting or by a user id. */
export const customerIdentity = (phoneOrUserId: string): string =>
  USER_ID.test(phoneOrUserId) ? phoneOrUserId : phoneIdentity(digitsOf(phoneOrUserId))
