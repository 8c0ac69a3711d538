import { Type } from 'typebox'
import { type AppError, validationError } from '../../platform/errors.ts'
import { parseId } from '../../platform/ids.ts'

export type Page = { page: number; pageSize: number; offset: number }
type Limits = { defaultSize: number; maxSize: number }

// Far beyond any data, and the offset still fits a bigint.
const MAX_PAGE = 1_000_000_000

/** Parses page and size; never fails (decisions: Statuses). Invalid values get the default, large ones are clamped. */
export function parsePage(query: { page?: unknown; pageSize?: unknown; limit?: unknown }, limits: Limits): Page {
  const page = Math.min(toPositive(query.page) ?? 1, MAX_PAGE)
  const pageSize = Math.min(toPositive(query.pageSize ?? query.limit) ?? limits.defaultSize, limits.maxSize)
  return { page, pageSize, offset: (page - 1) * pageSize }
}

export type Before = { before: number | undefined; limit: number }

export function parseBefore(query: { before?: unknown; limit?: unknown }, limits: Limits): Before {
  const before = query.before === undefined ? undefined : parseCursorId(query.before, 'before')
  return { before, limit: parsePage(query, limits).pageSize }
}

function parseCursorId(value: unknown, path: string): number {
  const id = typeof value === 'number' || typeof value === 'string' ? parseId(String(value)) : undefined
  if (id === undefined) throw unknownCursor(path)
  return id
}

export const unknownCursor = (path: string): AppError =>
  validationError([{ path, message: 'must be the id of a record of this list' }])

function toPositive(value: unknown): number | undefined {
  const text = typeof value === 'number' || typeof value === 'string' ? String(value) : ''
  return /^0*[1-9][0-9]*$/.test(text) ? Number(text) : undefined
}

/** Builds the pagination of senders, conversations and messages. Past the end, `prevPage` is the last existing page. */
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

export const toUncountedPagination = (page: number, hasNext: boolean) => ({
  totalRecords: null,
  currentPage: page,
  totalPages: null,
  nextPage: hasNext ? page + 1 : null,
  prevPage: page > 1 ? page - 1 : null,
})

export const withoutPages = <Shape extends object>(pagination: Shape) => ({
  ...pagination,
  nextPage: null,
  prevPage: null,
})

export const cursorQuery = {
  before: Type.Optional(
    Type.String({
      title: 'Before',
      description:
        'Returns the records with smaller ids instead of a page. The record with this id may no longer exist.',
    }),
  ),
  after: Type.Optional(
    Type.String({
      title: 'After',
      description:
        'Returns the nearest records with greater ids instead of a page. The record with this id may no longer exist.',
    }),
  ),
}

/** In a list with the newest first, `before` selects what follows the record. */
export type Cursor = { readonly side: 'before' | 'after'; readonly id: number }

export function readCursor(query: { before?: string; after?: string }): Cursor | undefined {
  const side = query.before === undefined ? 'after' : 'before'
  const text = query[side]
  return text === undefined ? undefined : { side, id: parseCursorId(text, side) }
}

/** Shown as an integer in the API reference, but accepts anything. */
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

export const pageQuery = ({ defaultSize, maxSize }: Limits) => ({
  page: lenientInteger('Page, counted from 1.', 1, undefined, 'Page'),
  pageSize: lenientInteger(`Records per page, at most ${maxSize}.`, defaultSize, maxSize),
})

export const limitQuery = ({ defaultSize, maxSize }: Limits) => ({
  page: lenientInteger('Page, counted from 1.', 1, undefined, 'Page'),
  limit: lenientInteger(`Records per page, at most ${maxSize}.`, defaultSize, maxSize, `Limit${defaultSize}`),
})

export const beforeQuery = ({ defaultSize, maxSize }: Limits) => ({
  before: Type.Optional(
    Type.Unsafe<unknown>({
      type: 'integer',
      minimum: 1,
      title: 'BeforeId',
      description: 'Returns only records with smaller ids. Any other value returns 422.',
      'x-lenient': true,
    }),
  ),
  limit: lenientInteger(`Records per page, at most ${maxSize}.`, defaultSize, maxSize, `Limit${defaultSize}`),
})
