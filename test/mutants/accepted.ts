/** Parts of titles of mutants that may survive, each with its reason. */
export const ACCEPTED: readonly string[] = []
