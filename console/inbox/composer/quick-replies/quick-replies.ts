import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { useListbox } from '../../../parts/lists/listbox.ts'
import { quickRepliesQuery } from './quick-replies-query.ts'
import { matching, withName } from './quick-reply-text.ts'

/** A `/` that begins the text, and what follows it. */
const COMMAND = /^\s*\/([^\n]*)$/

/** `typed`: a `/` in the text opens the list. `asked`: its button did, whatever the text is. */
type Mode = 'typed' | 'asked' | 'dismissed'

/** The quick replies that a text asks for with `/`; `write` gets the text with the chosen one in it. */
export function useQuickReplies(written: string, contactName: string | null, write: (text: string) => void) {
  const [mode, setMode] = useState<Mode>('typed')
  const command = COMMAND.exec(written)?.[1]
  const asked = mode === 'asked' ? (command ?? '') : mode === 'typed' ? command : undefined
  const { data } = useQuery({ ...quickRepliesQuery, enabled: asked !== undefined })
  const options = asked === undefined || data === undefined ? [] : matching(data, asked)
  const listbox = useListbox(options, asked ?? '', ({ text }) => {
    const chosen = withName(text, contactName)
    // A text that is no search for a quick reply stays.
    write(command !== undefined || written.trim() === '' ? chosen : `${written.trimEnd()}\n${chosen}`)
    setMode('typed')
  })
  // Another text is another search.
  const [seen, see] = useState(written)
  if (seen !== written) {
    see(written)
    if (mode === 'asked' || command === undefined) setMode('typed')
  }
  const isEmpty = asked !== undefined && data?.length === 0
  return {
    ...listbox,
    options,
    isOpen: options.length > 0 || isEmpty,
    /** The company has none. */
    isEmpty,
    dismiss: () => setMode('dismissed'),
    ask: () => setMode('asked'),
  }
}
