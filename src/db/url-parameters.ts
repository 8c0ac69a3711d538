import { StartError } from '../platform/start-error.ts'

/** Removes and returns a parameter. The last of several wins, as in libpq. */
export function take(parameters: URLSearchParams, name: string): string | undefined {
  const value = parameters.getAll(name).at(-1)
  parameters.delete(name)
  return value
}

/** Removes and returns an enumerated parameter. Throws StartError for an unknown value. */
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
