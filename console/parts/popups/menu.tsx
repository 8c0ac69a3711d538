import { Menu as Base } from '@base-ui/react/menu'
import type { ReactElement, ReactNode } from 'react'
import { classes } from '../classes.ts'
import { Icon, type IconName } from '../icon.tsx'
import css from './menu.module.css'

type Props = {
  /** The button that opens the menu. */
  trigger: ReactElement
  children: ReactNode
  side?: 'top' | 'bottom'
  align?: 'start' | 'end'
}

/** A menu of actions. */
export function Menu({ trigger, children, side = 'bottom', align = 'start' }: Props) {
  return (
    <Base.Root>
      <Base.Trigger render={trigger} />
      {/* Inside the landmark of the content, so that screen readers find it by landmarks. */}
      <Base.Portal container={document.getElementById('content')}>
        <Base.Positioner className={css.positioner ?? ''} side={side} align={align} sideOffset={6} collisionPadding={8}>
          <Base.Popup className={css.popup ?? ''}>{children}</Base.Popup>
        </Base.Positioner>
      </Base.Portal>
    </Base.Root>
  )
}

type ItemProps = { icon?: IconName; onClick: () => void; isDanger?: boolean; children: ReactNode; keys?: string }

export function MenuItem({ icon, onClick, isDanger = false, children, keys }: ItemProps) {
  return (
    <Base.Item className={classes(css.item, isDanger && css.danger)} onClick={onClick}>
      {icon && <Icon name={icon} />}
      <span className={css.label}>{children}</span>
      {keys && <kbd className={css.keys}>{keys}</kbd>}
    </Base.Item>
  )
}

export const MenuLine = () => <Base.Separator className={css.line ?? ''} />

type ChoiceProps<Value extends string> = {
  label: string
  value: Value
  choices: readonly { value: Value; label: string; icon?: IconName }[]
  onChange: (value: Value) => void
}

/** One of several choices, with a mark at the chosen one. */
export function MenuChoice<Value extends string>({ label, value, choices, onChange }: ChoiceProps<Value>) {
  return (
    <Base.RadioGroup value={value} onValueChange={onChange} aria-label={label}>
      {choices.map((choice) => (
        <Base.RadioItem key={choice.value} value={choice.value} className={css.item ?? ''} closeOnClick>
          {choice.icon && <Icon name={choice.icon} />}
          <span className={css.label}>{choice.label}</span>
          <Base.RadioItemIndicator>
            <Icon name="check" />
          </Base.RadioItemIndicator>
        </Base.RadioItem>
      ))}
    </Base.RadioGroup>
  )
}

type SwitchProps = { icon: IconName; isOn: boolean; onChange: (isOn: boolean) => void; children: ReactNode }

/** A setting that is on or off, with a mark when it is on. */
export function MenuSwitch({ icon, isOn, onChange, children }: SwitchProps) {
  return (
    <Base.CheckboxItem className={css.item ?? ''} checked={isOn} onCheckedChange={onChange}>
      <Icon name={icon} />
      <span className={css.label}>{children}</span>
      <Base.CheckboxItemIndicator>
        <Icon name="check" />
      </Base.CheckboxItemIndicator>
    </Base.CheckboxItem>
  )
}

/** A line of text above items. */
export function MenuLabel({ children }: { children: ReactNode }) {
  return (
    <div className={css.title} role="presentation">
      {children}
    </div>
  )
}
