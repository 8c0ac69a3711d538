import { StartError } from '../platform/start-error.ts'

/** Takes a parameter out of those of an address. Of several with one name the last counts, as for libpq. */
export function take(parameters: URLSearchParams, name: string): string | undefined {
  const value = parameters.getAll(name).at(-1)
  parameters.delete(name)
  return value
}

/**
 * Takes a parameter that has one of some values.
 *
 * @throws StartError when it has another
 */
export function takeChoice<Choice extends string>(
  parameters: URLSearchParams,
  name: string,
  choices: readonly Choice[],
): Choice | undefined {
  const value = take(parameters, name)
  if (value === undefined) return undefined
  const choice = choices.find((one) => one === value)
  if (choice === undefined) {
    throw new StartError(`${name} in DATABASE_URL must be one of ${choices.join(', ')}, not ${value}`)
  }
  return choice
}
