/**
 * The measurements of each of these by turns, in each second round the other way round, so that other load of the machine
 * affects all alike: a, b, b, a.
 */
export async function byTurns<Name extends string, T>(
  names: readonly Name[],
  measure: (name: Name) => Promise<T>,
  rounds = 2,
): Promise<Record<Name, T[]>> {
  const measured = Object.fromEntries(names.map((name): [Name, T[]] => [name, []])) as Record<Name, T[]>
  for (let round = 0; round < rounds; round += 1) {
    for (const name of round % 2 === 0 ? names : names.toReversed()) measured[name].push(await measure(name))
  }
  return measured
}
