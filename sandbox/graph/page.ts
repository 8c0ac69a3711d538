const DEFAULT_LIMIT = 25
const MAX_LIMIT = 1_000

export type PageQuery = { query: URLSearchParams; base: string; path: string }

/**
 * One page of a list in the provider's shape: cursors around what is shown, and `paging.next` with the whole
 * address of the next page until there is none. Undefined when the cursor is not one of ours.
 */
export function pageOf<Item extends { id: string }>(items: Item[], request: PageQuery) {
  const after = request.query.get('after')
  const start = after ? items.findIndex((item) => item.id === readCursor(after)) + 1 : 0
  if (after && start === 0) return undefined
  const limit = limitOf(request.query)
  const shown = items.slice(start, start + limit)
  const first = shown[0]
  const last = shown.at(-1)
  if (first === undefined || last === undefined) return { data: shown }
  return {
    data: shown,
    paging: {
      cursors: { before: writeCursor(first.id), after: writeCursor(last.id) },
      ...(start + limit < items.length && { next: nextAddress(request, last.id) }),
    },
  }
}

/** The record with only the fields asked for, `id` always; the usual ones when none were. */
export function pickFields<Item extends { id: string }>(item: Item, query: URLSearchParams, usual: string[]) {
  const asked = query.get('fields')
  const names = asked ? asked.split(',').map((name) => name.replace(/\{.*$/, '').trim()) : usual
  const picked = Object.entries(item).filter(([name]) => name !== 'id' && names.includes(name))
  return { ...Object.fromEntries(picked), id: item.id }
}

function limitOf(query: URLSearchParams): number {
  const asked = Number(query.get('limit'))
  return Number.isInteger(asked) && asked > 0 ? Math.min(asked, MAX_LIMIT) : DEFAULT_LIMIT
}

function nextAddress({ query, base, path }: PageQuery, lastId: string): string {
  const next = new URLSearchParams(query)
  next.set('limit', String(limitOf(query)))
  next.set('after', writeCursor(lastId))
  return `${base}${path}?${next}`
}

const writeCursor = (id: string): string => Buffer.from(id).toString('base64url')
const readCursor = (cursor: string): string => Buffer.from(cursor, 'base64url').toString()
