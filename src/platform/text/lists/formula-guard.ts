// Spreadsheets run cells starting with these signs. With another separator, a cell may also start after a comma,
// semicolon, tab or line end inside a field, where quotes are dropped.
const FORMULA = /^'*[=+\-@\t\r\n＝＋－＠]/
const INNER = /([,;\t\r\n])(?=["']*[=+\-@＝＋－＠])/g
const INNER_GUARDED = /([,;\t\r\n])'(?=["']*[=+\-@＝＋－＠])/g
const MAY_SPLIT = /[,;\t\r\n]/
const NUMBER = /^'*[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?$/

const isFormula = (field: string): boolean => FORMULA.test(field) && !NUMBER.test(field)

/** Guards existing guards too, so the import restores what was exported. Numbers need none at a field's start. */
export function withGuard(field: string): string {
  const whole = isFormula(field) ? `'${field}` : field
  return MAY_SPLIT.test(whole) ? whole.replace(INNER, "$1'") : whole
}

export function withoutGuard(field: string): string {
  if (!field.includes("'")) return field
  const whole = field.startsWith("'") && isFormula(field) ? field.slice(1) : field
  return MAY_SPLIT.test(whole) ? whole.replace(INNER_GUARDED, '$1') : whole
}
