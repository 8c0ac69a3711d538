import { setImmediate } from 'node:timers/promises'

/** About a millisecond for contacts of usual size. */
const STRETCH = 25

export async function mapInStretches<T, R>(items: readonly T[], map: (item: T, place: number) => R): Promise<R[]> {
  const mapped: R[] = []
  for (const [place, item] of items.entries()) {
    if (place > 0 && place % STRETCH === 0) await setImmediate()
    mapped.push(map(item, place))
  }
  return mapped
}
