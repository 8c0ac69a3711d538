import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { parsePage, toPagination } from './paging.ts'

const limits = { defaultSize: 20, maxSize: 100 }

describe('page and pageSize', () => {
  test('never fail, and stay in their range', () => {
    fc.assert(
      fc.property(fc.anything(), fc.anything(), (page, pageSize) => {
        const parsed = parsePage({ page, pageSize }, limits)
        expect(parsed.page).toBeGreaterThanOrEqual(1)
        expect(parsed.pageSize).toBeGreaterThanOrEqual(1)
        expect(parsed.pageSize).toBeLessThanOrEqual(100)
        expect(Number.isSafeInteger(parsed.offset)).toBe(true)
        expect(parsed.offset).toBe((parsed.page - 1) * parsed.pageSize)
      }),
    )
  })

  test.each([
    [{}, 1, 20],
    [{ page: '3', pageSize: '50' }, 3, 50],
    [{ page: 3, limit: '50' }, 3, 50],
    [{ page: '0', pageSize: '-5' }, 1, 20],
    [{ page: 'abc', pageSize: '1.5' }, 1, 20],
    [{ page: '1e3', pageSize: '' }, 1, 20],
    [{ page: ['2', '3'], pageSize: '101' }, 1, 100],
    [{ page: '99999999999999999999', pageSize: '100' }, 1_000_000_000, 100],
  ])('%j', (query, page, pageSize) => {
    expect(parsePage(query, limits)).toMatchObject({ page, pageSize })
  })
})

describe('the pagination object', () => {
  test('leads from the first page to the last and back', () => {
    fc.assert(
      fc.property(
        fc.nat(500),
        fc.integer({ min: 1, max: 60 }),
        fc.integer({ min: 1, max: 100 }),
        (total, page, size) => {
          const { totalPages, nextPage, prevPage, ...rest } = toPagination(total, page, size)
          expect(rest).toEqual({ totalRecords: total, currentPage: page })
          expect(totalPages * size).toBeGreaterThanOrEqual(total)
          expect((totalPages - 1) * size).toBeLessThan(Math.max(total, 1))
          expect(nextPage).toBe(page < totalPages ? page + 1 : null)
          if (prevPage !== null) expect(prevPage).toBe(page > totalPages ? totalPages : page - 1)
          expect(prevPage === null).toBe(page === 1 || totalPages === 0)
        },
      ),
    )
  })

  test('past the end, the previous page is the last that exists', () => {
    expect(toPagination(45, 9, 20)).toMatchObject({ totalPages: 3, nextPage: null, prevPage: 3 })
    expect(toPagination(0, 9, 20)).toMatchObject({ totalPages: 0, nextPage: null, prevPage: null })
  })
})
