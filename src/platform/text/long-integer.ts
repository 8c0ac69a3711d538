/** A double may round 16 or more digits; an exponent form is as exact as its digits. */
const LONG_INTEGER = /(?:^|[[{,:\s])-?[0-9]{16,}\s*(?:$|[\]},])/

export const mayHaveLongIntegers = (text: string): boolean => LONG_INTEGER.test(text)

export const isRounded = (value: unknown): boolean => Number.isInteger(value) && !Number.isSafeInteger(value)

/** Returns whether any integer in the text was rounded. */
export function hasRoundedInteger(text: string, root: unknown): boolean {
  if (!mayHaveLongIntegers(text)) return false
  const open: unknown[] = [root]
  while (open.length > 0) {
    const value = open.pop()
    if (isRounded(value)) return true
    if (typeof value === 'object' && value !== null) for (const member of Object.values(value)) open.push(member)
  }
  return false
}
