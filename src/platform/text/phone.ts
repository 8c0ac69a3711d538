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
