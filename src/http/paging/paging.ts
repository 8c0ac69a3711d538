import { Type } from 'typebox'
import { type AppError, validationError } from '../../platform/errors.ts'
import { parseId } from '../../platform/ids.ts'

export type Page = { page: number; pageSize: number; offset: number }
type Limits = { defaultSize: number; maxSize: number }

// Beyond it nothing is stored, and an offset stays within what the database counts.
const MAX_PAGE = 1_000_000_000

/**
 * Reads `page` and `pageSize` (or `limit`) of a query (decisions: Statuses). Never fails: what is not a positive integer
 * takes the default, what is over the maximum is clamped.
 */
export function parsePage(query: { page?: unknown; pageSize?: unknown; limit?: unknown }, limits: Limits): Page {
  const page = Math.min(toPositive(query.page) ?? 1, MAX_PAGE)
  const pageSize = Math.min(toPositive(query.pageSize ?? query.limit) ?? limits.defaultSize, limits.maxSize)
  return { page, pageSize, offset: (page - 1) * pageSize }
}

export type Before = { before: number | undefined; limit: number }

/** Reads `before` (an id) and `limit` of a query: 422 when `before` is no id. Without it the list begins at its newest. */
export function parseBefore(query: { before?: unknown; limit?: unknown }, limits: Limits): Before {
  const before = query.before === undefined ? undefined : parseCursorId(query.before, 'before')
  return { before, limit: parsePage(query, limits).pageSize }
}

/** Reads an id that serves as a cursor; 422 naming its parameter when it is no id. */
export function parseCursorId(value: unknown, path: string): number {
  const id = typeof value === 'number' || typeof value === 'string' ? parseId(String(value)) : undefined
  if (id === undefined) throw unknownCursor(path)
  return id
}

/** 422 for a cursor that names no place in its list. */
export const unknownCursor = (path: string): AppError =>
  validationError([{ path, message: 'must be the id of a record of this list' }])

function toPositive(value: unknown): number | undefined {
  const text = typeof value === 'number' || typeof value === 'string' ? String(value) : ''
  return /^0*[1-9][0-9]*$/.test(text) ? Number(text) : undefined
}

/** The shape of senders, conversations and messages. Past the end, `prevPage` is the last page that exists. */
export function toPagination(total: number, page: number, pageSize: number) {
  const totalPages = Math.ceil(total / pageSize)
  const prevPage = Math.min(page - 1, totalPages)
  return {
    totalRecords: total,
    currentPage: page,
    totalPages,
    nextPage: page < totalPages ? page + 1 : null,
    prevPage: prevPage > 0 ? prevPage : null,
  }
}

/** The same shape for a list whose records are not counted. */
export const toUncountedPagination = (page: number, hasNext: boolean) => ({
  totalRecords: null,
  currentPage: page,
  totalPages: null,
  nextPage: hasNext ? page + 1 : null,
  prevPage: page > 1 ? page - 1 : null,
})

/** With a cursor the caller walks by ids: pages have no numbers. */
export const withoutPages = <Shape extends object>(pagination: Shape) => ({
  ...pagination,
  nextPage: null,
  prevPage: null,
})

/** Query members `before` and `after` of a list that is ordered by id, to spread into a route's query shape. */
export const cursorQuery = {
  before: Type.Optional(
    Type.String({
      title: 'Before',
      description:
        'Returns the records with smaller ids instead of a page. The record of this id need not exist any more.',
    }),
  ),
  after: Type.Optional(
    Type.String({
      title: 'After',
      description:
        'Returns the records with greater ids instead of a page, the ones next to it. The record of this id need not exist any more.',
    }),
  ),
}

/** A record of a list, and the side of it that follows: `before` comes after it in a list with the newest first. */
export type Cursor = { readonly side: 'before' | 'after'; readonly id: number }

/** Reads `before` or `after` of a query; 422 when it is no id. */
export function readCursor(query: { before?: string; after?: string }): Cursor | undefined {
  const side = query.before === undefined ? 'after' : 'before'
  const text = query[side]
  return text === undefined ? undefined : { side, id: parseCursorId(text, side) }
}

/** A member of a query string that shows as an integer in the API reference, and that admits anything. */
const lenientInteger = (description: string, fallback: number, maximum?: number, title?: string) =>
  Type.Optional(
    Type.Unsafe<unknown>({
      type: 'integer',
      minimum: 1,
      ...(maximum !== undefined && { maximum }),
      ...(title !== undefined && { title }),
      description: `${description} A value that is not a positive integer counts as ${fallback}.`,
      'x-lenient': true,
    }),
  )

/** Query members `page` and `pageSize`, to spread into a route's query shape. */
export const pageQuery = ({ defaultSize, maxSize }: Limits) => ({
  page: lenientInteger('The page, counted from 1.', 1, undefined, 'Page'),
  pageSize: lenientInteger(`The number of records on a page, at most ${maxSize}.`, defaultSize, maxSize),
})

/** Query members `page` and `limit`, of the general convention. */
export const limitQuery = ({ defaultSize, maxSize }: Limits) => ({
  page: lenientInteger('The page, counted from 1.', 1, undefined, 'Page'),
  limit: lenientInteger(
    `The number of records on a page, at most ${maxSize}.`,
    defaultSize,
    maxSize,
    `Limit${defaultSize}`,
  ),
})

/** Query members `before` and `limit`, of lists that are ordered by id, newest first. */
export const beforeQuery = ({ defaultSize, maxSize }: Limits) => ({
  before: Type.Optional(
    Type.Unsafe<unknown>({
      type: 'integer',
      minimum: 1,
      title: 'BeforeId',
      description: 'Returns only records with smaller ids. A value that is no id is answered 422.',
      'x-lenient': true,
    }),
  ),
  limit: lenientInteger(
    `The number of records on a page, at most ${maxSize}.`,
    defaultSize,
    maxSize,
    `Limit${defaultSize}`,
  ),
})
