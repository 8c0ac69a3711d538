import { type Static, Type } from 'typebox'
import { type HiddenMatches, hiddenMatchesMember, toHiddenMember } from '../../http/paging/hidden-matches.ts'
import { limitQuery, parsePage } from '../../http/paging/paging.ts'
import { nullableInteger } from '../../http/shapes.ts'
import { validationError } from '../../platform/errors.ts'
import { textFaults } from '../../platform/text/json-text.ts'
import { ContactReplyShape, toContactReply } from '../contact-shape.ts'
import { CONTACT_SORTS, type ContactListRequest, type ContactPage, parseSort } from './contact-list.ts'
import { FILTER_QUERY, parseCursor, readFilter, SEARCH_MAX_LENGTH } from './contact-query.ts'

const DEFAULT_SORT = '-created_at'
const LIMITS = { defaultSize: 25, maxSize: 100 }

export const ListQuery = Type.Object({
  ...limitQuery(LIMITS),
  search: Type.Optional(
    Type.String({ description: 'Part of the email, phone or name, ignoring case, accents and width.' }),
  ),
  ...FILTER_QUERY,
  sort: Type.Optional(
    // Validated in the handler, which reports all query faults at once.
    Type.Unsafe<string>({
      type: 'string',
      enum: [...CONTACT_SORTS],
      default: DEFAULT_SORT,
      description:
        'Order; a leading - means descending. By default the list is sorted by -created_at, and a search ranks contacts with a word starting with the term first, unless only part of the contacts is examined.',
      'x-lenient': true,
    }),
  ),
  before: Type.Optional(
    Type.String({
      description:
        'Returns the contacts sorted below this cursor, nearest first, instead of a page. Takes the same time at any depth. Any value but a cursor of the same sort returns 422.',
    }),
  ),
  after: Type.Optional(
    Type.String({
      description: 'Returns the contacts sorted above this cursor, nearest first, instead of a page.',
    }),
  ),
})

const Cursor = (page: string) =>
  Type.Unsafe<string | null>({
    type: ['string', 'null'],
    description: `Cursor of ${page}; null if there is none.`,
  })

export const ListReply = Type.Object(
  {
    data: Type.Array(ContactReplyShape),
    pagination: Type.Object(
      {
        page: nullableInteger('Current page; null if read by cursor.'),
        limit: Type.Integer({ description: 'Contacts per page.' }),
        total: Type.Integer({ description: 'Number of contacts on all pages.' }),
        totalPages: Type.Integer({ description: 'Number of pages.' }),
        hasNext: Type.Boolean(),
        hasPrevious: Type.Boolean(),
        totalIsExact: Type.Boolean({
          description:
            'False if a search or filter may have more matches than `total`, since at most 10,000 contacts are examined.',
        }),
        nextCursor: Cursor('the next page: pass as `before` if the sort descends, as `after` if it ascends'),
        previousCursor: Cursor('the previous page, to pass as the other parameter'),
      },
      {
        title: 'ContactPagination',
        example: {
          page: 1,
          limit: 25,
          total: 1,
          totalPages: 1,
          hasNext: false,
          hasPrevious: false,
          totalIsExact: true,
          nextCursor: null,
          previousCursor: null,
        },
      },
    ),
    hiddenMatches: hiddenMatchesMember,
  },
  {
    description: 'One page of contacts.',
  },
)

type ListQueryText = Static<typeof ListQuery>

/** Reads the list query; clamps page and limit. Throws 422 `validation_error` with all faults. */
export function readListRequest(query: ListQueryText): ContactListRequest {
  const search = query.search ?? ''
  const sort = CONTACT_SORTS.find((name) => name === (query.sort ?? DEFAULT_SORT))
  const { filter, faults: filterFaults } = readFilter(query)
  const faults = [...textFaults(search, 'search'), ...filterFaults]
  if (search.length > SEARCH_MAX_LENGTH) {
    faults.push({ path: 'search', message: `must not have more than ${SEARCH_MAX_LENGTH} characters` })
  }
  if (sort === undefined) faults.push({ path: 'sort', message: `must be one of ${CONTACT_SORTS.join(', ')}` })
  if (faults.length > 0 || sort === undefined) throw validationError(faults)
  const { column } = parseSort(sort)
  const side = query.before === undefined ? 'after' : 'before'
  const cursor = query[side]
  const { page, pageSize } = parsePage(query, LIMITS)
  return {
    page,
    limit: pageSize,
    search,
    filter,
    sort,
    isRanked: query.sort === undefined,
    ...(cursor !== undefined && { cursor: { side, place: parseCursor(cursor, column, side) } }),
  }
}

export const toListReply = (
  companyId: number,
  listed: ContactListRequest,
  page: ContactPage,
  hiddenMatches: HiddenMatches | null,
) => ({
  ...toHiddenMember(hiddenMatches),
  data: page.contacts.map((contact) => toContactReply(companyId, contact)),
  pagination: {
    page: listed.cursor === undefined ? listed.page : null,
    limit: listed.limit,
    total: page.total,
    totalPages: Math.ceil(page.total / listed.limit),
    hasNext: page.hasNext,
    hasPrevious: page.hasPrevious,
    totalIsExact: page.totalIsExact,
    nextCursor: page.nextCursor,
    previousCursor: page.previousCursor,
  },
})
