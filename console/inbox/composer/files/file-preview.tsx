import { useEffect, useState } from 'react'
import { Icon } from '../../../parts/icon.tsx'
import { kindOf } from './file-limits.ts'
import css from './file-preview.module.css'

type Props = { file: File; size: 'small' | 'large'; alt?: string }

/** A picture of a file that is not sent yet, where it is one; else its icon. */
export function FilePreview({ file, size, alt = '' }: Props) {
  const [url, setUrl] = useState<string>()
  const [isBroken, setBroken] = useState(false)
  const kind = kindOf(file)
  const isPicture = (kind === 'image' || kind === 'sticker') && !isBroken
  useEffect(() => {
    if (!isPicture) return
    const address = URL.createObjectURL(file)
    setUrl(address)
    return () => URL.revokeObjectURL(address)
  }, [file, isPicture])
  if (!isPicture) {
    return (
      <span className={css.icon}>
        <Icon name="file" />
      </span>
    )
  }
  // A place of the same size until the browser has read it.
  if (url === undefined) return <span className={css[size]} />
  return <img className={css[size]} src={url} alt={alt} onError={() => setBroken(true)} />
}
