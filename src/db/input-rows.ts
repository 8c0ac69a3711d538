import type { Fragment } from './connect.ts'
import { SqlTemplate, toSnakeCase } from './driver/sql.ts'
import { JsonParameter, type JsonValue } from './driver/values.ts'

type Scalar =
  | 'bigint'
  | 'boolean'
  | 'date'
  | 'double precision'
  | 'integer'
  | 'jsonb'
  | 'smallint'
  | 'text'
  | 'timestamptz'
  | 'uuid'
type ColumnsOf<T> = { readonly [Type in Scalar | `${Scalar}[]`]?: readonly (keyof T & string)[] }
type Columns = Readonly<Record<string, readonly string[]>>
type Compiled = { members: readonly (readonly [member: string, column: string])[]; strings: readonly string[] }

/**
 * Passes members of many items as one parameter: rows with snake_case columns (docs/decisions/0008-rows-as-json.md).
 * Null and absent members become SQL nulls, also in `jsonb` columns.
 */
export function inputRows<T extends object>(
  items: readonly T[],
  columns: ColumnsOf<NoInfer<T>>,
  alias = 'input',
): Fragment {
  return input(items, columns, alias)
}

/** Like `inputRows`, with each row's `place`, from 1. */
export function placedRows<T extends object>(
  items: readonly T[],
  columns: ColumnsOf<NoInfer<T>>,
  alias = 'input',
): Fragment {
  return placed(items, columns, alias)
}

const input = createRows(compileInput)
const placed = createRows(compilePlaced)

/** Compiles each column list once, so the cache has one entry per call site. */
function createRows(compile: (columns: Columns, alias: string) => Compiled) {
  const compiled = new Map<string, Compiled>()
  return (items: readonly object[], columns: Columns, alias: string): Fragment => {
    let key = alias
    for (const type in columns) key += `;${type} ${columns[type]}`
    const { strings, members } = compiled.get(key) ?? compile(columns, alias)
    compiled.set(key, { strings, members })
    return new SqlTemplate(strings, [pick(items, members)])
  }
}

function compileInput(columns: Columns, alias: string): Compiled {
  const { members, types } = listColumns(columns)
  return { members, strings: ['jsonb_to_recordset(', `) as ${alias} (${types})`] }
}

function compilePlaced(columns: Columns, alias: string): Compiled {
  const { members, types } = listColumns(columns)
  const names = members.map(([, column]) => column).join(', ')
  return {
    members,
    strings: ['rows from (jsonb_to_recordset(', `) as (${types})) with ordinality as ${alias} (${names}, place)`],
  }
}

function listColumns(columns: Columns) {
  const list = Object.entries(columns).flatMap(([type, members]) =>
    members.map((member) => ({ member, column: toSnakeCase(member), type })),
  )
  return {
    members: list.map(({ member, column }) => [member, column] as const),
    types: list.map(({ column, type }) => `${column} ${type}`).join(', '),
  }
}

function pick(items: readonly object[], members: Compiled['members']): JsonParameter {
  const rows = (items as readonly { readonly [member: string]: JsonValue | undefined }[]).map((item) => {
    const row: { [column: string]: JsonValue | undefined } = {}
    for (const [member, column] of members) row[column] = item[member] ?? undefined
    return row
  })
  return new JsonParameter(rows)
}

/** Moved companies keep their ids, so two may share one. */
export const recordKeyOf = ({ companyId, id }: { companyId: number; id: number }): string => `${companyId}.${id}`
