/*
 * A spreadsheet runs a cell that begins with one of these signs. One with another separator than the list begins cells also after a comma,
 * a semicolon, a tab or a line end inside a field, and drops quotes there. A `'` before the sign makes text of it.
 */
const FORMULA = /^'*[=+\-@\t\r\n＝＋－＠]/
const INNER = /([,;\t\r\n])(?=["']*[=+\-@＝＋－＠])/g
const INNER_GUARDED = /([,;\t\r\n])'(?=["']*[=+\-@＝＋－＠])/g
const MAY_SPLIT = /[,;\t\r\n]/
const NUMBER = /^'*[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?$/

const isFormula = (field: string): boolean => FORMULA.test(field) && !NUMBER.test(field)

/**
 * Puts a `'` before each formula in a field. A place that already has one gets one more, so that the import finds what was exported.
 * Numbers are left as they are, but not after a separator: what follows the field would continue them.
 */
export function withGuard(field: string): string {
  const whole = isFormula(field) ? `'${field}` : field
  return MAY_SPLIT.test(whole) ? whole.replace(INNER, "$1'") : whole
}

/** Removes what `withGuard` adds. */
export function withoutGuard(field: string): string {
  if (!field.includes("'")) return field
  const whole = field.startsWith("'") && isFormula(field) ? field.slice(1) : field
  return MAY_SPLIT.test(whole) ? whole.replace(INNER_GUARDED, '$1') : whole
}
