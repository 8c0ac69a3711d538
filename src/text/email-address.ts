/** Longest address that mail can be sent to (RFC 5321). */
export const EMAIL_MAX_LENGTH = 254

// One @ with something before it and a domain after it: labels of letters, digits and hyphens, at least two of them,
// in any script. No spaces, control characters, quotes, commas, semicolons, backslashes or brackets anywhere: what
// could end a header or start a second recipient is no address here.
const EMAIL =
  /^[^\s\p{Cc}\p{Cf}@"(),:;<>[\\\]]{1,64}@(?:[\p{L}\p{M}\p{N}](?:[\p{L}\p{M}\p{N}-]{0,61}[\p{L}\p{M}\p{N}])?\.)+[\p{L}\p{M}\p{N}-]{2,63}$/u

/** Whether a text is an address that can be stored and sent to: at most 254 characters, with a dotted domain. */
export const isEmail = (text: string): boolean => text.length <= EMAIL_MAX_LENGTH && EMAIL.test(text)

/** The address as it is compared: two that differ in case alone are one. Made here only, never by the database. */
export const emailKey = (email: string): string => email.normalize('NFC').toLowerCase()
