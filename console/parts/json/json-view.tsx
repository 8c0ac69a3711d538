import { useVirtualizer } from '@tanstack/react-virtual'
import { useMemo, useRef, useState } from 'react'
import { text } from '../../texts/text.ts'
import { classes } from '../classes.ts'
import { Icon } from '../icon.tsx'
import { type JsonLine, jsonLines, visibleLines } from './json-lines.ts'
import css from './json-view.module.css'

const LINE_PX = 20
/** A longer value is truncated in the view; copying takes the whole text. */
const MAX_LINE = 2_000

/** Shows JSON with members that collapse, and other text unchanged. Only the lines in view are in the page. */
export function JsonView({ source, label }: { source: string; label: string }) {
  const lines = useMemo(() => jsonLines(source) ?? plainLines(source), [source])
  const [closed, setClosed] = useState<ReadonlySet<number>>(new Set())
  const visible = useMemo(() => visibleLines(lines, closed), [lines, closed])
  const scroller = useRef<HTMLElement>(null)
  const virtualizer = useVirtualizer({
    count: visible.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => LINE_PX,
    overscan: 20,
  })
  const toggle = (index: number) => {
    const next = new Set(closed)
    if (!next.delete(index)) next.add(index)
    setClosed(next)
  }
  return (
    // The region scrolls, so the keyboard must reach it.
    // biome-ignore lint/a11y/noNoninteractiveTabindex: see above
    <section ref={scroller} className={css.view} tabIndex={0} aria-label={label}>
      <div className={css.lines} style={{ blockSize: virtualizer.getTotalSize() }}>
        {virtualizer.getVirtualItems().map((item) => {
          const index = visible[item.index] ?? 0
          const line = lines[index]
          if (line === undefined) return null
          return (
            <div key={item.key} className={css.line} style={{ insetBlockStart: item.start }}>
              <Line line={line} isClosed={closed.has(index)} onToggle={() => toggle(index)} />
            </div>
          )
        })}
      </div>
    </section>
  )
}

function Line({ line, isClosed, onToggle }: { line: JsonLine; isClosed: boolean; onToggle: () => void }) {
  const closing = line.value === '{' ? '}' : ']'
  return (
    <span className={css.content} style={{ paddingInlineStart: `${line.depth * 1.125 + 1.25}rem` }}>
      {line.end !== null && (
        <button
          type="button"
          className={css.toggle}
          aria-expanded={!isClosed}
          aria-label={`${isClosed ? text.json.expand : text.json.collapse} ${line.name}`}
          onClick={onToggle}
        >
          <Icon name={isClosed ? 'forward' : 'down'} size={12} />
        </button>
      )}
      {line.name && <span className={css.name}>{line.name}: </span>}
      <span className={classes(css[line.kind])}>{truncate(line.value)}</span>
      {isClosed && (
        <span className={css.bracket}>
          <span className={css.size}>
            {' '}
            {line.value === '{' ? text.json.members(line.size) : text.json.items(line.size)}{' '}
          </span>
          {closing}
        </span>
      )}
      {line.hasComma && !isClosed && ','}
    </span>
  )
}

const truncate = (value: string): string =>
  value.length > MAX_LINE ? `${value.slice(0, MAX_LINE)} … ${text.json.truncated(value.length - MAX_LINE)}` : value

const plainLines = (source: string): JsonLine[] =>
  source
    .split('\n')
    .map((value) => ({ depth: 0, name: '', value, kind: 'literal', end: null, size: 0, hasComma: false }))
