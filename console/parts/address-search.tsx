import { useEffect, useRef, useState } from 'react'
import { useKeys } from '../keys.ts'
import { SearchField } from './search-field.tsx'

const PAUSE_MS = 250

/** The search of a list, which the address holds: `onChange` follows when typing pauses. The key `/` leads to it. */
export function AddressSearch({
  label,
  value,
  onChange,
}: {
  label: string
  value: string
  onChange: (query: string) => void
}) {
  const [query, setQuery] = useState(value)
  const field = useRef<HTMLInputElement>(null)
  useEffect(() => setQuery(value), [value])
  useEffect(() => {
    if (query.trim() === value) return
    const timer = setTimeout(() => onChange(query.trim()), PAUSE_MS)
    return () => clearTimeout(timer)
  }, [query, value, onChange])
  useKeys({ '/': () => field.current?.focus() })
  return <SearchField ref={field} label={label} value={query} onChange={setQuery} />
}
