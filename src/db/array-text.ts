/**
 * Texts as PostgreSQL reads an array of them, for `${arrayText(values)}::text[]`: the driver, given the array itself, would
 * look at each of its texts several times, which is felt with thousands.
 */
export const arrayText = (values: readonly (string | null)[]): string => `{${values.map(toElement).join()}}`

const toElement = (value: string | null): string => {
  if (value === null) return 'null'
  return /["\\]/.test(value) ? `"${value.replaceAll(/["\\]/g, '\\$&')}"` : `"${value}"`
}
