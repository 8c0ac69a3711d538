import { type Fragment, sql } from './connect.ts'
import { toSnakeCase } from './driver/sql-template.ts'
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
type Column = { member: string; name: string; type: string }

/** Passes members of many items as one parameter: rows with snake_case columns (docs/decisions/0008-rows-as-json.md). */
export function inputRows<T extends object>(
  items: readonly T[],
  columns: ColumnsOf<NoInfer<T>>,
  alias = 'input',
): Fragment {
  const list = listColumns(columns)
  return sql`jsonb_to_recordset(${pick(items, list)}) as ${sql.unsafe(`${alias} (${define(list)})`)}`
}

/** Like `inputRows`, with each row's `place`, from 1. */
export function placedRows<T extends object>(
  items: readonly T[],
  columns: ColumnsOf<NoInfer<T>>,
  alias = 'input',
): Fragment {
  const list = listColumns(columns)
  const names = sql.unsafe(`${alias} (${list.map(({ name }) => name).join(', ')}, place)`)
  return sql`rows from (jsonb_to_recordset(${pick(items, list)}) as (${sql.unsafe(define(list))})) with ordinality as ${names}`
}

const listColumns = (columns: Readonly<Record<string, readonly string[]>>): Column[] =>
  Object.entries(columns).flatMap(([type, members]) =>
    members.map((member) => ({ member, name: toSnakeCase(member), type })),
  )

const define = (columns: readonly Column[]): string => columns.map(({ name, type }) => `${name} ${type}`).join(', ')

function pick(items: readonly object[], columns: readonly Column[]): JsonParameter {
  const rows = (items as readonly { readonly [member: string]: JsonValue | undefined }[]).map((item) => {
    const row: { [name: string]: JsonValue | undefined } = {}
    for (const { member, name } of columns) row[name] = item[member]
    return row
  })
  return new JsonParameter(rows)
}
