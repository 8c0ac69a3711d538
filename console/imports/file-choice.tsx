import { type DragEvent, useRef, useState } from 'react'
import { Button } from '../parts/button.tsx'
import { classes } from '../parts/classes.ts'
import { Icon } from '../parts/icon.tsx'
import { importText } from '../texts/imports.ts'
import css from './imports.module.css'

const TYPES = '.csv,.ndjson,.jsonl,text/csv,application/x-ndjson'

/** The place where a list is dropped or chosen. */
export function FileChoice({ onChoose }: { onChoose: (file: File) => void }) {
  const [isOver, setOver] = useState(false)
  const input = useRef<HTMLInputElement>(null)
  const take = (files: FileList | null) => {
    const file = files?.[0]
    if (file !== undefined) onChoose(file)
  }
  const over = (event: DragEvent) => {
    event.preventDefault()
    setOver(true)
  }
  const drop = (event: DragEvent) => {
    event.preventDefault()
    setOver(false)
    take(event.dataTransfer.files)
  }
  return (
    <section
      className={classes(css.drop, isOver && css.over)}
      aria-label={importText.start}
      onDragOver={over}
      onDragLeave={() => setOver(false)}
      onDrop={drop}
    >
      <Icon name="file" size={20} />
      <div className={css.words}>
        <p className={css.strong}>{importText.drop}</p>
        <p className={css.soft}>{importText.dropHint}</p>
      </div>
      <Button look="primary" onClick={() => input.current?.click()}>
        {importText.choose}
      </Button>
      <input
        ref={input}
        type="file"
        accept={TYPES}
        className={css.hidden}
        aria-label={importText.choose}
        tabIndex={-1}
        onChange={({ target }) => take(target.files)}
      />
    </section>
  )
}
