/** Runs of a property test: `count` in `npm test`, more of them with the setting `PROPERTY_RUNS`, a factor. */
export const propertyRuns = (count: number): number => count * Number(process.env.PROPERTY_RUNS ?? 1)
