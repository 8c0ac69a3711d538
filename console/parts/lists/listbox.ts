import { type KeyboardEvent, useId, useState } from 'react'

/**
 * A list of options that a text field steers: arrows move through it, Enter chooses. The focus stays in the field. A
 * change of `filter` marks the first option again.
 */
export function useListbox<Option>(options: readonly Option[], filter: string, onChoose: (option: Option) => void) {
  const id = useId()
  const [active, setActive] = useState({ filter, index: 0 })
  const index = active.filter === filter ? Math.min(active.index, options.length - 1) : 0
  const mark = (next: number) => setActive({ filter, index: (next + options.length) % options.length })
  const moves: Record<string, number> = { ArrowDown: index + 1, ArrowUp: index - 1 }

  /** Whether the key was for the list. */
  const press = (event: KeyboardEvent): boolean => {
    const option = options[index]
    if (option === undefined || event.nativeEvent.isComposing) return false
    const next = moves[event.key]
    if (next !== undefined) mark(next)
    else if (event.key === 'Enter' && !event.shiftKey) onChoose(option)
    else return false
    event.preventDefault()
    return true
  }
  const optionId = (place: number) => `${id}-${place}`
  return {
    press,
    /** For the field. */
    control: {
      'aria-autocomplete': 'list',
      'aria-controls': options.length > 0 ? id : undefined,
      'aria-activedescendant': options.length > 0 ? optionId(index) : undefined,
    } as const,
    list: { id, role: 'listbox' } as const,
    /** For the option at a place. A press of the pointer leaves the focus in the field. */
    option: (place: number, option: Option) =>
      ({
        id: optionId(place),
        role: 'option',
        'aria-selected': place === index,
        onPointerDown: (event: { preventDefault(): void }) => event.preventDefault(),
        onPointerMove: () => place !== index && mark(place),
        onClick: () => onChoose(option),
      }) as const,
  }
}

/** Keeps the marked option in view. */
export const showMarked = (option: HTMLElement | null): void => {
  if (option?.getAttribute('aria-selected') === 'true') option.scrollIntoView({ block: 'nearest' })
}
