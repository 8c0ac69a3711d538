import { useVirtualizer } from '@tanstack/react-virtual'
import { type ReactNode, useEffect, useRef } from 'react'
import css from './list.module.css'
import { usePlace } from './place.ts'

/** Chromium bounds the height of an element at about 33.5 million px: further rows are reached by filters. */
export const MAX_ROWS = 400_000
const OVERSCAN = 8

type Props = {
  label: string
  count: number
  rowPx: number
  /** The room above the first row and below the last. */
  padPx?: number
  keyOf: (index: number) => string | number
  /** The rows in view, whenever they change. */
  onView?: (first: number, last: number) => void
  /** A row to bring into view when it changes. */
  shownRow?: number | undefined
  /** The name under which the browser tab keeps how far the list is scrolled. */
  place?: string
  children: (index: number) => ReactNode
}

/** A list of any length, of which only the rows in view are in the page. */
export function List({ label, count, rowPx, padPx = 0, keyOf, onView, shownRow, place, children }: Props) {
  const scroller = useRef<HTMLDivElement>(null)
  const rows = Math.min(count, MAX_ROWS)
  const virtualizer = useVirtualizer({
    count: rows,
    getScrollElement: () => scroller.current,
    estimateSize: () => rowPx,
    overscan: OVERSCAN,
    paddingStart: padPx,
    paddingEnd: padPx,
    getItemKey: keyOf,
  })
  usePlace(scroller, place, virtualizer.getTotalSize())
  const items = virtualizer.getVirtualItems()
  const first = items[0]?.index ?? 0
  const last = items.at(-1)?.index ?? 0
  useEffect(() => onView?.(first, last), [onView, first, last])
  useEffect(() => {
    if (shownRow !== undefined) virtualizer.scrollToIndex(shownRow, { align: 'auto' })
  }, [shownRow, virtualizer])
  return (
    <div ref={scroller} className={css.scroller}>
      <ul aria-label={label} className={css.rows} style={{ blockSize: virtualizer.getTotalSize() }}>
        {items.map((item) => (
          <li
            key={item.key}
            className={css.row}
            aria-setsize={rows}
            aria-posinset={item.index + 1}
            style={{ blockSize: item.size, transform: `translateY(${item.start}px)` }}
          >
            {children(item.index)}
          </li>
        ))}
      </ul>
    </div>
  )
}
