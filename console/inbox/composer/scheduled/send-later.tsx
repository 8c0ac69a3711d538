import { type FormEvent, useState } from 'react'
import type { Conversation } from '../../../../client/src/generated/schemas.ts'
import { Button } from '../../../parts/button.tsx'
import { TextField } from '../../../parts/forms/field.tsx'
import { Dialog } from '../../../parts/popups/dialog.tsx'
import { useSession } from '../../../shell/session-context.ts'
import { dateAndTime } from '../../../texts/format.ts'
import { laterText } from '../../../texts/later.ts'
import { text } from '../../../texts/text.ts'
import css from './send-later.module.css'

const MINUTE_MS = 60_000
const DAY_MS = 24 * 60 * MINUTE_MS
const MAX_AHEAD_MS = 30 * DAY_MS
const FORM = 'send-later'

type Props = {
  record: Conversation
  /** A template reaches the customer when the window is closed, too. */
  isTemplate?: boolean
  onChoose: (sendAt: string) => void
  onClose: () => void
}

/** Asks when to send: by one of some usual times, or by date and time in the zone of the browser. */
export function SendLater({ record, isTemplate = false, onChoose, onClose }: Props) {
  const { sessionWindow } = useSession().features
  const [value, setValue] = useState(() => toField(presets()[0]?.at ?? new Date()))
  const [fault, setFault] = useState<string>()
  const at = new Date(value)
  const { closesAt } = record.window
  const isAfterWindow =
    !isTemplate && sessionWindow === 'strict' && closesAt !== null && at.getTime() > Date.parse(closesAt)
  const submit = (event: FormEvent) => {
    event.preventDefault()
    const found = faultOf(at)
    setFault(found)
    if (found === undefined) onChoose(at.toISOString())
  }
  return (
    <Dialog
      title={laterText.title}
      isOpen
      onClose={onClose}
      actions={
        <>
          <Button onClick={onClose}>{text.cancel}</Button>
          <Button look="primary" icon="clock" type="submit" form={FORM}>
            {laterText.submit}
          </Button>
        </>
      }
    >
      <form id={FORM} className={css.form} onSubmit={submit} noValidate>
        <div className={css.presets}>
          {presets().map((preset) => (
            <Button
              key={preset.label}
              aria-pressed={value === toField(preset.at)}
              onClick={() => setValue(toField(preset.at))}
            >
              {preset.label}
            </Button>
          ))}
        </div>
        <TextField
          type="datetime-local"
          label={laterText.at}
          hint={laterText.zone(zoneName())}
          value={value}
          min={toField(new Date())}
          max={toField(new Date(Date.now() + MAX_AHEAD_MS))}
          fault={fault}
          onChange={({ target }) => setValue(target.value)}
        />
        {isAfterWindow && (
          <p className={css.warning} role="status">
            {laterText.windowCloses(dateAndTime(closesAt))}
          </p>
        )}
      </form>
    </Dialog>
  )
}

function presets(now = new Date()) {
  const nine = (days: number) => new Date(now.getFullYear(), now.getMonth(), now.getDate() + days, 9)
  const untilMonday = (8 - now.getDay()) % 7 || 7
  const all = [
    { label: laterText.presets.hour, at: new Date(now.getTime() + 60 * MINUTE_MS) },
    { label: laterText.presets.morning, at: nine(1) },
  ]
  return untilMonday === 1 ? all : [...all, { label: laterText.presets.monday, at: nine(untilMonday) }]
}

function faultOf(at: Date): string | undefined {
  if (Number.isNaN(at.getTime())) return laterText.enter
  if (at.getTime() <= Date.now()) return laterText.past
  return at.getTime() > Date.now() + MAX_AHEAD_MS ? laterText.tooFar : undefined
}

/** A time as the field has it: in the zone of the browser, to the minute. */
function toField(at: Date): string {
  const local = new Date(at.getTime() - at.getTimezoneOffset() * MINUTE_MS)
  return local.toISOString().slice(0, 16)
}

function zoneName(): string {
  const { timeZone } = Intl.DateTimeFormat().resolvedOptions()
  return timeZone.replaceAll('_', ' ')
}
