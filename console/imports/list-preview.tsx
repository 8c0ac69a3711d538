import type { CustomField } from '../../client/src/generated/schemas.ts'
import type { ReadConsent } from '../../src/platform/text/lists/consent-columns.ts'
import { Badge } from '../parts/feedback/badge.tsx'
import { Select } from '../parts/forms/select.tsx'
import { importText } from '../texts/imports.ts'
import css from './imports.module.css'
import type { ListHead } from './list-file.ts'
import { choicesOf, rowFault } from './list-mapping.ts'
import type { Phones } from './phone-reading.ts'

type Props = {
  head: ListHead
  fields: readonly CustomField[]
  targets: readonly (string | null)[]
  /** Undefined: rows are not checked yet. */
  phones: Phones | undefined
  readConsent: ReadConsent
  onMap: (place: number, target: string | null) => void
}

/** The first rows of a list, with the target of each column above it and the fault of each row before it. */
export function ListPreview({ head: { format, columns, first }, fields, targets, phones, readConsent, onMap }: Props) {
  const named = columns.map((column, place) => ({ place, name: column || importText.unnamed(place + 1), column }))
  const rows = first.map((row, at) => ({
    row,
    number: at + 1,
    fault: phones && rowFault(row, targets, phones, readConsent),
  }))
  return (
    // The region scrolls, so the keyboard must reach it.
    // biome-ignore lint/a11y/noNoninteractiveTabindex: see above
    <section className={css.preview} aria-label={importText.preview} tabIndex={0}>
      <table className={css.table}>
        <thead>
          <tr>
            <th scope="col">{importText.line}</th>
            {named.map(({ place, name, column }) => (
              <th key={place} scope="col">
                <bdi className={css.column}>{name}</bdi>
                <Select
                  label={importText.columnOf(name)}
                  value={targets[place] ?? ''}
                  choices={choicesOf(format, column, fields)}
                  onChange={(target) => onMap(place, target === '' ? null : target)}
                />
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map(({ row, number, fault }) => (
            <tr key={number}>
              <th scope="row">
                {number}
                {fault !== undefined && (
                  <span title={fault}>
                    <Badge tone="bad">{importText.fault}</Badge>
                  </span>
                )}
              </th>
              {named.map(({ place }) => (
                <td key={place} dir="auto" className={targets[place] === null ? css.out : undefined}>
                  {shown(row.cells[place])}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  )
}

const shown = (value: unknown): string => {
  if (value === undefined || value === null) return ''
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}
