import { useEffect, useState } from 'react'
import { text } from '../texts/text.ts'
import { IconButton } from './button.tsx'

const SHOWN_MS = 1_500

/** Copies a value, and says so for a moment. */
export function CopyButton({ value, label }: { value: string; label: string }) {
  const [isCopied, setCopied] = useState(false)
  useEffect(() => {
    if (!isCopied) return
    const timer = setTimeout(() => setCopied(false), SHOWN_MS)
    return () => clearTimeout(timer)
  }, [isCopied])
  const copy = async () => {
    await navigator.clipboard.writeText(value)
    setCopied(true)
  }
  return <IconButton icon={isCopied ? 'check' : 'copy'} label={isCopied ? text.copied : label} onClick={copy} />
}
