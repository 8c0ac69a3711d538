import { type Static, Type } from 'typebox'

export const HiddenMatches = Type.Object(
  {
    total: Type.Integer({ description: 'Number of matches without these filters.' }),
    totalIsExact: Type.Boolean({ description: 'False if there may be more than `total`.' }),
    filters: Type.Array(Type.String(), { description: 'Query parameters that hide them.' }),
  },
  {
    title: 'HiddenMatches',
    description:
      'How many matches are hidden, and by which filters; only if a filtered search has no match on its first page.',
    example: { total: 3, totalIsExact: true, filters: ['status'] },
  },
)
export type HiddenMatches = Static<typeof HiddenMatches>

export const hiddenMatchesMember = Type.Optional(HiddenMatches)

export const toHiddenMember = (hidden: HiddenMatches | null): { hiddenMatches?: HiddenMatches } =>
  hidden === null ? {} : { hiddenMatches: hidden }

export type Counted = { readonly total: number; readonly isExact: boolean }

/** Returns each filter whose removal alone reveals matches, or else all. `count` counts matches under the kept ones. */
export async function findHidden<Name extends string>(
  filters: readonly Name[],
  count: (kept: readonly Name[]) => Promise<Counted>,
): Promise<HiddenMatches | null> {
  const without = async (names: readonly Name[]): Promise<HiddenMatches> => {
    const { total, isExact } = await count(filters.filter((name) => !names.includes(name)))
    return { total, totalIsExact: isExact, filters: [...names] }
  }
  const all = await without(filters)
  if (all.total === 0) return null
  if (filters.length === 1) return all
  const alone: Name[] = []
  for (const name of filters) if ((await without([name])).total > 0) alone.push(name)
  return alone.length === 0 || alone.length === filters.length ? all : without(alone)
}
