import { useRef } from 'react'
import { IconButton } from '../../../parts/button.tsx'
import { fileText } from '../../../texts/files.ts'

type Props = { onChoose: (files: File[]) => void; label?: string; accept?: string; isSingle?: boolean }

/** Opens the browser's choice of files. */
export function AttachButton({ onChoose, label = fileText.attach, accept, isSingle = false }: Props) {
  const input = useRef<HTMLInputElement>(null)
  return (
    <>
      <IconButton icon="attach" label={label} onClick={() => input.current?.click()} />
      <input
        ref={input}
        type="file"
        multiple={!isSingle}
        accept={accept}
        hidden
        onChange={({ target }) => {
          onChoose([...(target.files ?? [])])
          // The same file can be chosen again.
          target.value = ''
        }}
      />
    </>
  )
}
