import { useEffect, useRef, useState } from 'react'
import { useKeys } from '../../keys.ts'
import { SearchField } from './search-field.tsx'

const PAUSE_MS = 250

type Props = {
  label: string
  value: string
  onChange: (value: string) => void
  /** Whether `/` moves the focus into it. */
  hasKey?: boolean
}

/** A search that reports its value when typing pauses. */
export function PausedSearch({ label, value, onChange, hasKey = false }: Props) {
  const [query, setQuery] = useState(value)
  const field = useRef<HTMLInputElement>(null)
  /** The text that was reported last: when it comes back as the value, later input stays. */
  const reported = useRef(value)
  useEffect(() => {
    if (value !== reported.current) setQuery(value)
    reported.current = value
  }, [value])
  useEffect(() => {
    if (query.trim() === value) return
    const timer = setTimeout(() => {
      reported.current = query.trim()
      onChange(query.trim())
    }, PAUSE_MS)
    return () => clearTimeout(timer)
  }, [query, value, onChange])
  useKeys(hasKey ? { '/': () => field.current?.focus() } : {})
  return <SearchField ref={field} label={label} value={query} onChange={setQuery} />
}
