import { Icon } from '../icon.tsx'
import css from './select.module.css'

type Props<Value extends string> = {
  label: string
  value: Value
  choices: readonly { value: Value; label: string }[]
  onChange: (value: Value) => void
}

/** One of several values. The browser's own list opens: it costs no script and suits every device. */
export function Select<Value extends string>({ label, value, choices, onChange }: Props<Value>) {
  const choose = (chosen: string) => {
    const choice = choices.find((one) => one.value === chosen)
    if (choice !== undefined) onChange(choice.value)
  }
  return (
    <span className={css.select}>
      <select aria-label={label} value={value} onChange={({ target }) => choose(target.value)} className={css.field}>
        {choices.map((choice) => (
          <option key={choice.value} value={choice.value}>
            {choice.label}
          </option>
        ))}
      </select>
      <Icon name="down" size={14} className={css.arrow} />
    </span>
  )
}
