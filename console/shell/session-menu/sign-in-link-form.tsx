import { useMutation } from '@tanstack/react-query'
import { type FormEvent, useState } from 'react'
import { api } from '../../client.ts'
import { Button } from '../../parts/button.tsx'
import { faultText } from '../../parts/feedback/failure-text.ts'
import { TextField } from '../../parts/forms/field.tsx'
import { fieldFault } from '../../parts/forms/field-fault.ts'
import { Select } from '../../parts/forms/select.tsx'
import { CopyButton } from '../../parts/json/copy-button.tsx'
import { ROLES, type Role } from '../../session.ts'
import { text } from '../../texts/text.ts'
import css from './sign-in-link-form.module.css'

const CHOICES = ROLES.map((value) => ({ value, label: text.roles[value].choice }))

/** Creates a link that signs another person in, with a role. The link is shown once. */
export function SignInLinkForm() {
  const [name, setName] = useState('')
  const [role, setRole] = useState<Role>('agent')
  const { mutate, data, error, isPending } = useMutation({
    mutationFn: () => api.createSignInLink({ name: name.trim(), role }),
    onSuccess: () => setName(''),
  })
  const submit = (event: FormEvent) => {
    event.preventDefault()
    if (!isPending) mutate()
  }
  return (
    <form onSubmit={submit} className={css.form} noValidate aria-label={text.sessions.newLink}>
      <TextField
        className={css.name ?? ''}
        label={text.sessions.name}
        maxLength={200}
        value={name}
        onChange={({ target }) => setName(target.value)}
        fault={error ? (fieldFault(error, 'name', text.faults.name) ?? faultText(error)) : undefined}
      />
      <Select label={text.sessions.role} value={role} choices={CHOICES} onChange={setRole} />
      <Button type="submit" isBusy={isPending}>
        {text.sessions.createLink}
      </Button>
      <p className={css.hint}>{text.sessions.newLinkHint}</p>
      {data && (
        <p className={css.link} role="status">
          <input className={css.url} readOnly value={data.url} aria-label={text.sessions.link} />
          <CopyButton value={data.url} label={text.sessions.copyLink} />
        </p>
      )}
    </form>
  )
}
