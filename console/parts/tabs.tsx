import css from './tabs.module.css'

type Props<Value extends string> = {
  label: string
  value: Value
  choices: readonly { value: Value; label: string }[]
  onChange: (value: Value) => void
}

/** A few views of one thing, side by side. */
export function Tabs<Value extends string>({ label, value, choices, onChange }: Props<Value>) {
  return (
    <fieldset className={css.tabs} aria-label={label}>
      {choices.map((choice) => (
        <button
          key={choice.value}
          type="button"
          className={css.tab}
          aria-pressed={choice.value === value}
          onClick={() => onChange(choice.value)}
        >
          {choice.label}
        </button>
      ))}
    </fieldset>
  )
}
