import { Select as Base } from '@base-ui/react/select'
import { classes } from './classes.ts'
import { Icon } from './icon.tsx'
import css from './select.module.css'

type Props<Value extends string> = {
  label: string
  value: Value
  choices: readonly { value: Value; label: string }[]
  onChange: (value: Value) => void
  /** `quiet` stands among filters, `field` in forms. */
  look?: 'quiet' | 'field'
}

/** One of several values. */
export function Select<Value extends string>({ label, value, choices, onChange, look = 'quiet' }: Props<Value>) {
  return (
    <Base.Root items={choices} value={value} onValueChange={(chosen) => chosen !== null && onChange(chosen)}>
      <Base.Trigger className={classes(css.trigger, css[look])} aria-label={label}>
        <Base.Value className={css.value ?? ''} />
        <Icon name="down" size={14} className={css.arrow} />
      </Base.Trigger>
      <Base.Portal>
        <Base.Positioner
          className={css.positioner ?? ''}
          sideOffset={6}
          alignItemWithTrigger={false}
          collisionPadding={8}
        >
          <Base.Popup className={css.popup ?? ''}>
            <Base.List>
              {choices.map((choice) => (
                <Base.Item key={choice.value} value={choice.value} className={css.item ?? ''}>
                  <Base.ItemText className={css.text ?? ''}>{choice.label}</Base.ItemText>
                  <Base.ItemIndicator className={css.mark ?? ''}>
                    <Icon name="check" size={14} />
                  </Base.ItemIndicator>
                </Base.Item>
              ))}
            </Base.List>
          </Base.Popup>
        </Base.Positioner>
      </Base.Portal>
    </Base.Root>
  )
}
