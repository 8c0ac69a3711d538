/** Moves the focus to the next or previous of the rows that a selector finds; from elsewhere to the open one or the first. */
export function focusRow(selector: string, step: 1 | -1): void {
  const rows = [...document.querySelectorAll<HTMLElement>(selector)].sort(
    (one, other) => one.getBoundingClientRect().top - other.getBoundingClientRect().top,
  )
  const at = document.activeElement instanceof HTMLElement ? rows.indexOf(document.activeElement) : -1
  const open = rows.findIndex((row) => row.ariaCurrent === 'page')
  const target = at !== -1 ? rows[at + step] : open !== -1 ? rows[open + step] : rows[0]
  target?.focus()
}
