import { useEffect, useState } from 'react'
import { text } from '../../texts/text.ts'
import { Button, IconButton } from '../button.tsx'

const SHOWN_MS = 1_500

type Props = {
  /** The text that is copied; a function makes it when the button is pressed. */
  value: string | (() => Promise<string>)
  label: string
  /** Whether the label stands next to the icon. */
  isLabelled?: boolean
}

/** Copies a value, and says so for a moment. */
export function CopyButton({ value, label, isLabelled = false }: Props) {
  const [shown, show] = useState<'copied' | 'failed'>()
  useEffect(() => {
    if (shown === undefined) return
    const timer = setTimeout(() => show(undefined), SHOWN_MS)
    return () => clearTimeout(timer)
  }, [shown])
  const copy = () =>
    write(value).then(
      () => show('copied'),
      () => show('failed'),
    )
  const icon = shown === 'copied' ? 'check' : shown === 'failed' ? 'alert' : 'copy'
  const name = shown === 'copied' ? text.copied : shown === 'failed' ? text.notCopied : label
  if (!isLabelled) return <IconButton icon={icon} label={name} onClick={copy} />
  return (
    <Button look="quiet" icon={icon} onClick={copy}>
      {name}
    </Button>
  )
}

/** A promise as the content: Safari writes only what was begun while the button was pressed. */
const write = (value: Props['value']): Promise<void> =>
  typeof value === 'string'
    ? navigator.clipboard.writeText(value)
    : navigator.clipboard.write([
        new ClipboardItem({ 'text/plain': value().then((text) => new Blob([text], { type: 'text/plain' })) }),
      ])
