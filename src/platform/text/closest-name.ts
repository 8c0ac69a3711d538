/** Returns the known name one edit away, or differing only in case, `_` and `-`. */
export function closestName(name: string, known: Iterable<string>): string | undefined {
  const folded = fold(name)
  let near: string | undefined
  for (const candidate of known) {
    if (candidate === name) continue
    const other = fold(candidate)
    if (other === folded) return candidate
    if (near === undefined && isOneEdit(folded, other)) near = candidate
  }
  return near
}

export function unknownName(name: string, known: Iterable<string>): string {
  const meant = closestName(name, known)
  return meant === undefined ? 'is not known here' : `is not known here: did you mean ${meant}?`
}

const fold = (name: string): string => name.toLowerCase().replaceAll(/[_-]/g, '')

function isOneEdit(one: string, other: string): boolean {
  if (Math.abs(one.length - other.length) > 1) return false
  let start = 0
  while (start < one.length && one[start] === other[start]) start += 1
  const [rest, otherRest] = [one.slice(start), other.slice(start)]
  if (rest.slice(1) === otherRest || rest === otherRest.slice(1)) return true
  if (rest.slice(1) === otherRest.slice(1)) return true
  return rest[0] === otherRest[1] && rest[1] === otherRest[0] && rest.slice(2) === otherRest.slice(2)
}
