import { useMutation, useQueryClient } from '@tanstack/react-query'
import { type ChangeEvent, type ChangeEventHandler, type FormEvent, useId, useState } from 'react'
import type { Registration } from '../../../client/src/generated/schemas.ts'
import { api } from '../../client.ts'
import { EVENTS } from '../../generated/lists.ts'
import { Button } from '../../parts/button.tsx'
import { faultText } from '../../parts/feedback/failure-text.ts'
import { TextField } from '../../parts/forms/field.tsx'
import { fieldFault, isOfOthers } from '../../parts/forms/field-fault.ts'
import { CopyButton } from '../../parts/json/copy-button.tsx'
import { Dialog } from '../../parts/popups/dialog.tsx'
import { receiverText } from '../../texts/receivers.ts'
import { text } from '../../texts/text.ts'
import { receiversQuery } from '../receiver-queries.ts'
import css from './receiver-form.module.css'

type Props = {
  receiver?: Registration
  onClose: () => void
  /** Called with the stored receiver and, of a new one, the secret that it was given. */
  onDone: (receiver: Registration, secret: string | null) => void
}
type Event = Registration['events'][number]
const FIELDS = ['name', 'url', 'secret', 'events'] as const
type Values = { name: string; url: string; secret: string; isSigned: boolean; events: readonly Event[] }

const SECRET_BYTES = 32

/** Adds a receiver with a generated secret, or changes one. A stored secret is only ever written. */
export function ReceiverForm({ receiver, onClose, onDone }: Props) {
  const form = useId()
  const { field, isSigned, sign, events, toggle, submit, isPending, fault } = useReceiverForm(receiver, onDone)
  return (
    <Dialog
      title={receiver ? receiverText.editTitle : receiverText.newTitle}
      isOpen
      onClose={onClose}
      actions={
        <>
          <Button onClick={onClose}>{text.cancel}</Button>
          <Button type="submit" form={form} look="primary" isBusy={isPending}>
            {receiver ? text.save : receiverText.create}
          </Button>
        </>
      }
    >
      <form id={form} onSubmit={submit} className={css.form} noValidate>
        <TextField
          label={receiverText.name}
          hint={receiverText.nameHint}
          maxLength={200}
          autoFocus
          {...field('name')}
        />
        <TextField label={receiverText.url} hint={receiverText.urlHint} inputMode="url" dir="ltr" {...field('url')} />
        {receiver ? (
          <TextField
            label={receiverText.secret}
            hint={receiver.hasSecret ? receiverText.secretKept : receiverText.secretHint}
            type="password"
            autoComplete="new-password"
            {...field('secret')}
          />
        ) : (
          <Signing isSigned={isSigned} onSign={sign} secret={field('secret')} />
        )}
        <fieldset className={css.events}>
          <legend>{receiverText.events}</legend>
          {EVENTS.map(({ name: event, label }) => (
            <label key={event}>
              <input type="checkbox" checked={events.includes(event)} onChange={() => toggle(event)} />
              <span>
                {label} <code dir="ltr">{event}</code>
              </span>
            </label>
          ))}
        </fieldset>
        {fault !== undefined && (
          <p role="alert" className={css.fault}>
            {fault}
          </p>
        )}
      </form>
    </Dialog>
  )
}

type SigningProps = {
  isSigned: boolean
  onSign: (isSigned: boolean) => void
  secret: { value: string; onChange: ChangeEventHandler<HTMLInputElement>; fault: string | undefined }
}

/** The secret of a new receiver; without one, what that means. */
function Signing({ isSigned, onSign, secret }: SigningProps) {
  return (
    <div className={css.signing}>
      <label className={css.sign}>
        <input type="checkbox" checked={isSigned} onChange={({ target }) => onSign(target.checked)} />
        {receiverText.sign}
      </label>
      {isSigned ? (
        <div className={css.secret}>
          <TextField
            label={receiverText.secret}
            hint={receiverText.generatedHint}
            autoComplete="off"
            spellCheck={false}
            dir="ltr"
            {...secret}
          />
          <CopyButton value={secret.value} label={receiverText.copySecret} />
        </div>
      ) : (
        <p className={css.warning} role="status">
          {receiverText.unsignedWarning}
        </p>
      )}
    </div>
  )
}

/** The values of the form, each with the fault that the service found in it. A repeated submission stores once. */
function useReceiverForm(receiver: Registration | undefined, onDone: Props['onDone']) {
  const client = useQueryClient()
  const [values, setValues] = useState<Values>(() => ({
    name: receiver?.name ?? '',
    url: receiver?.url ?? '',
    secret: receiver ? '' : generateSecret(),
    isSigned: true,
    events: receiver?.events ?? ['whatsapp.message.received'],
  }))
  const [key] = useState(() => crypto.randomUUID())
  const { mutate, error, isPending } = useMutation({
    mutationFn: () => store(receiver, values, key),
    onSuccess: async (stored) => {
      await client.invalidateQueries({ queryKey: receiversQuery.queryKey })
      onDone(stored, values.isSigned ? values.secret : null)
    },
  })
  // A service that takes https alone refuses http like any other text.
  const isPlainHttp = /^http:/i.test(values.url.trim())
  const expected = {
    name: text.faults.name,
    url: isPlainHttp ? text.faults.httpsAddress : text.faults.address,
    secret: receiverText.secretHint,
  }
  const field = (name: 'name' | 'url' | 'secret') => ({
    value: values[name],
    onChange: ({ target }: ChangeEvent<HTMLInputElement>) => setValues({ ...values, [name]: target.value }),
    fault: fieldFault(error, name, expected[name]),
  })
  const { events, isSigned } = values
  const sign = (isOn: boolean) => setValues({ ...values, isSigned: isOn })
  const toggle = (event: Event) =>
    setValues({
      ...values,
      events: EVENTS.map(({ name }) => name).filter((one) => events.includes(one) !== (one === event)),
    })
  const submit = (event: FormEvent) => {
    event.preventDefault()
    if (!isPending) mutate()
  }
  const ofEvents = fieldFault(error, 'events', receiverText.eventsNone)
  const fault = error && isOfOthers(error, FIELDS) ? faultText(error) : ofEvents
  return { field, isSigned, sign, events, toggle, submit, isPending, fault }
}

function store(
  receiver: Registration | undefined,
  { name, url, secret, isSigned, events }: Values,
  key: string,
): Promise<Registration> {
  const body = { name: name.trim(), url: url.trim(), events: [...events], ...(isSigned && secret !== '' && { secret }) }
  if (receiver) return api.updateRegistration({ id: receiver.id }, body)
  return api.createRegistration(body, { idempotencyKey: `${key}-${fingerprint(JSON.stringify(body))}` })
}

/** 256 random bits in the form of Standard Webhooks. */
const generateSecret = (): string =>
  `whsec_${btoa(String.fromCharCode(...crypto.getRandomValues(new Uint8Array(SECRET_BYTES))))}`

/** Another body needs another key: the service refuses a key that comes back with something else. */
function fingerprint(text: string): string {
  let hash = 0
  for (const character of text) hash = (hash * 31 + (character.codePointAt(0) ?? 0)) | 0
  return (hash >>> 0).toString(36)
}
