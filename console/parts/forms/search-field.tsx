import type { Ref } from 'react'
import { text } from '../../texts/text.ts'
import { Icon } from '../icon.tsx'
import css from './search-field.module.css'

type Props = { label: string; value: string; onChange: (value: string) => void; ref?: Ref<HTMLInputElement> }

/** A search, emptied by Escape. */
export function SearchField({ label, value, onChange, ref }: Props) {
  return (
    <div className={css.field}>
      <Icon name="search" size={14} className={css.icon} />
      <input
        ref={ref}
        className={css.input}
        type="search"
        inputMode="search"
        enterKeyHint="search"
        aria-label={label}
        placeholder={label}
        maxLength={200}
        value={value}
        onChange={(event) => onChange(event.target.value)}
        onKeyDown={(event) => {
          if (event.key !== 'Escape') return
          if (value === '') event.currentTarget.blur()
          else onChange('')
        }}
      />
      {value !== '' && (
        <button type="button" className={css.clear} aria-label={text.clearSearch} onClick={() => onChange('')}>
          <Icon name="close" size={14} />
        </button>
      )}
    </div>
  )
}
