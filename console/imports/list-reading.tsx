import { DELIMITERS, type Delimiter } from '../../src/platform/text/lists/csv.ts'
import { LIST_ENCODINGS, type ListEncoding } from '../../src/platform/text/lists/encoding.ts'
import { findProfile, PROFILES } from '../../src/platform/text/lists/list-profiles.ts'
import type { NamedStyle } from '../../src/platform/text/lists/list-scan.ts'
import { Select } from '../parts/forms/select.tsx'
import { importText } from '../texts/imports.ts'
import css from './imports.module.css'
import type { ListHead } from './list-file.ts'

type Props = {
  head: Pick<ListHead, 'columns' | 'delimiter' | 'encoding'>
  named: NamedStyle
  onName: (named: NamedStyle) => void
}

const DELIMITER_CHOICES = DELIMITERS.map((value) => ({ value, label: importText.delimiters[value] }))
const ENCODING_CHOICES = LIST_ENCODINGS.map((value) => ({ value, label: importText.encodings[value] }))

/** How a CSV is read, as it was found or chosen, and the program that exported it. */
export function ListReading({ head: { columns, delimiter, encoding }, named, onName }: Props) {
  const profile = findProfile(columns)
  return (
    <>
      <span className={css.choice}>
        <span className={css.soft}>{importText.delimiter}</span>
        <Select<Delimiter>
          label={importText.delimiter}
          value={named.delimiter ?? delimiter}
          choices={DELIMITER_CHOICES}
          onChange={(chosen) => onName({ ...named, delimiter: chosen })}
        />
      </span>
      <span className={css.choice}>
        <span className={css.soft}>{importText.encoding}</span>
        <Select<ListEncoding>
          label={importText.encoding}
          value={named.encoding ?? encoding}
          choices={ENCODING_CHOICES}
          onChange={(chosen) => onName({ ...named, encoding: chosen })}
        />
      </span>
      {profile !== undefined && <span className={css.soft}>{importText.profile(PROFILES[profile].title)}</span>}
    </>
  )
}
