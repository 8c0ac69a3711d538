import { setImmediate } from 'node:timers/promises'

/** Items of one turn of the event loop: a millisecond for contacts of usual size. */
const STRETCH = 25

/** Maps items in order; other work runs after each 25 of them. */
export async function mapInStretches<T, R>(items: readonly T[], map: (item: T, place: number) => R): Promise<R[]> {
  const mapped: R[] = []
  for (const [place, item] of items.entries()) {
    if (place > 0 && place % STRETCH === 0) await setImmediate()
    mapped.push(map(item, place))
  }
  return mapped
}
