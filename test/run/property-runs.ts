import fc from 'fast-check'

/** `npm test` tries the same values every time: chance never decides it. `PROPERTY_RUNS` tries new ones each time. */
export function fixSeed(): void {
  if (process.env.PROPERTY_RUNS === undefined) fc.configureGlobal({ ...fc.readConfigureGlobal(), seed: 20_261_124 })
}

/** Runs of a property test: `count` in `npm test`, more of them with the setting `PROPERTY_RUNS`, a factor. */
export const propertyRuns = (count: number): number => count * Number(process.env.PROPERTY_RUNS ?? 1)
