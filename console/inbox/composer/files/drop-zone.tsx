import { type RefObject, useEffect, useRef, useState } from 'react'
import { Icon } from '../../../parts/icon.tsx'
import { fileText } from '../../../texts/files.ts'
import css from './drop-zone.module.css'

type Props = {
  /** A part of the conversation: files may be dropped anywhere on the conversation. */
  inside: RefObject<HTMLElement | null>
  onDrop: (files: FileList) => void
}

/** Takes files that are dropped on the conversation, and says so while they are over it. */
export function DropZone({ inside, onDrop }: Props) {
  const [isOver, setOver] = useState(false)
  const latest = useRef(onDrop)
  latest.current = onDrop
  useEffect(() => {
    const zone = inside.current?.closest('article')
    if (zone == null) return
    const hasFiles = ({ dataTransfer }: DragEvent) => dataTransfer?.types.includes('Files') ?? false
    const over = (event: DragEvent) => {
      if (!hasFiles(event)) return
      event.preventDefault()
      setOver(true)
    }
    const leave = ({ relatedTarget }: DragEvent) => {
      if (!(relatedTarget instanceof Node && zone.contains(relatedTarget))) setOver(false)
    }
    const drop = (event: DragEvent) => {
      setOver(false)
      if (!hasFiles(event) || event.dataTransfer === null) return
      event.preventDefault()
      latest.current(event.dataTransfer.files)
    }
    const ending = new AbortController()
    const { signal } = ending
    zone.addEventListener('dragenter', over, { signal })
    zone.addEventListener('dragover', over, { signal })
    zone.addEventListener('dragleave', leave, { signal })
    zone.addEventListener('drop', drop, { signal })
    return () => ending.abort()
  }, [inside])
  if (!isOver) return null
  return (
    <div className={css.zone}>
      <Icon name="attach" size={20} />
      <p className={css.title}>{fileText.drop}</p>
      <p>{fileText.dropHint}</p>
    </div>
  )
}
