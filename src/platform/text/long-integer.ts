/** An integer of 16 digits or more may be rounded by a double; one with an exponent is as exact as its digits. */
const LONG_INTEGER = /(?:^|[[{,:\s])-?[0-9]{16,}\s*(?:$|[\]},])/

/** Whether a JSON text may have integers that `JSON.parse` rounds. */
export const mayHaveLongIntegers = (text: string): boolean => LONG_INTEGER.test(text)

/** Whether a value of a text with long integers is rounded. */
export const isRounded = (value: unknown): boolean => Number.isInteger(value) && !Number.isSafeInteger(value)

/** Whether a JSON text has an integer that its value, at any depth, does not have. */
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
