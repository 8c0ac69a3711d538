import { useVirtualizer } from '@tanstack/react-virtual'
import { type ReactNode, useEffect, useRef } from 'react'
import { classes } from '../classes.ts'
import css from './table.module.css'

const OVERSCAN = 8
const HEAD_PX = 36

export type Column<Row> = {
  name: string
  /** Empty for a column of controls. */
  label: string
  /** Left out on a small window. */
  isWide?: boolean
  cell: (row: Row) => ReactNode
}

type Props<Row> = {
  label: string
  columns: readonly Column<Row>[]
  /** The class that sets the widths of the columns: `grid-template-columns`. */
  layout: string | undefined
  rows: readonly Row[]
  keyOf: (row: Row) => string | number
  rowPx: number
  /** Whether no row has a control: the list itself takes the focus, to be scrolled by key. */
  isPlain?: boolean
  /** The number of all rows, when it is known. */
  total?: number | undefined
  /** The last row in view, whenever it changes. */
  onView?: (last: number) => void
}

/** A list with columns, of any length: only the rows in view are in the page. */
export function Table<Row>({ label, columns, layout, rows, keyOf, rowPx, isPlain = false, total, onView }: Props<Row>) {
  const scroller = useRef<HTMLDivElement>(null)
  const virtualizer = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => rowPx,
    overscan: OVERSCAN,
    scrollMargin: HEAD_PX,
    getItemKey: (index) => {
      const row = rows[index]
      return row === undefined ? index : keyOf(row)
    },
  })
  const items = virtualizer.getVirtualItems()
  const last = items.at(-1)?.index ?? 0
  useEffect(() => onView?.(last), [onView, last])
  const cellClass = ({ isWide }: Column<Row>) => classes(css.cell, isWide && css.wide)
  const focusable = isPlain ? { role: 'region', 'aria-label': label, tabIndex: 0 } : {}
  return (
    <div ref={scroller} className={css.scroller} {...focusable}>
      <table aria-label={label} aria-rowcount={total ?? -1} className={css.table}>
        <thead className={css.head}>
          <tr className={classes(css.columns, layout)} aria-rowindex={1}>
            {columns.map((column) =>
              column.label === '' ? (
                <td key={column.name} />
              ) : (
                <th key={column.name} scope="col" className={cellClass(column)}>
                  {column.label}
                </th>
              ),
            )}
          </tr>
        </thead>
        <tbody className={css.rows} style={{ blockSize: virtualizer.getTotalSize() }}>
          {items.map((item) => {
            const row = rows[item.index]
            if (row === undefined) return null
            return (
              <tr
                key={item.key}
                aria-rowindex={item.index + 2}
                className={classes(css.row, layout)}
                style={{ blockSize: item.size, transform: `translateY(${item.start - HEAD_PX}px)` }}
              >
                {columns.map((column) => (
                  <td key={column.name} className={cellClass(column)}>
                    {column.cell(row)}
                  </td>
                ))}
              </tr>
            )
          })}
        </tbody>
      </table>
    </div>
  )
}
