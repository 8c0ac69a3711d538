/** Answers of this process that openapi.json does not describe, since they were last taken. */
const faults: string[] = []
const MOST_FAULTS = 20

/** Keeps a fault of an answer for the test that is running. */
export function addAnswerFault(fault: string): void {
  if (faults.length < MOST_FAULTS && !faults.includes(fault)) faults.push(fault)
}

/** Takes the faults that were kept. */
export const takeAnswerFaults = (): string[] => faults.splice(0)

/** Fails the running test when an answer was not described. @throws an error with method, path, status and fault of each */
export function requireDescribedAnswers(): void {
  const found = takeAnswerFaults()
  if (found.length > 0) throw new Error(`openapi.json does not describe these answers:\n${found.join('\n')}`)
}
