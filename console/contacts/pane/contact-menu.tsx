import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import type { Contact } from '../../../client/src/generated/schemas.ts'
import { ApiError, api } from '../../client.ts'
import { Button, IconButton } from '../../parts/button.tsx'
import { faultText } from '../../parts/feedback/failure-text.ts'
import { Dialog } from '../../parts/popups/dialog.tsx'
import { Menu, MenuItem, MenuLine } from '../../parts/popups/menu.tsx'
import { useSession } from '../../shell/session-context.ts'
import { contactText } from '../../texts/contacts.ts'
import { text } from '../../texts/text.ts'
import { titleOf, useLeave } from '../contact-title.ts'
import css from './contact-menu.module.css'

const { removal } = contactText
type Removal = 'archive' | 'erase'

/** Archives a contact or erases its person, after saying what that removes. */
export function ContactMenu({ contact }: { contact: Contact }) {
  const [dialog, open] = useState<Removal>()
  const { mayErase } = useSession()
  return (
    <>
      <Menu align="end" trigger={<IconButton icon="more" label={text.more} />}>
        <MenuItem icon="file" onClick={() => open('archive')}>
          {removal.archive.item}
        </MenuItem>
        {mayErase && <MenuLine />}
        {mayErase && (
          <MenuItem icon="remove" isDanger onClick={() => open('erase')}>
            {removal.erase.item}
          </MenuItem>
        )}
      </Menu>
      {dialog && <RemovalDialog kind={dialog} contact={contact} onClose={() => open(undefined)} />}
    </>
  )
}

type Props = { kind: Removal; contact: Contact; onClose: () => void }

function RemovalDialog({ kind, contact, onClose }: Props) {
  const { title, intro, removes, keeps, action } = removal[kind]
  const { mutate, error, isPending } = useRemoval(kind, contact)
  return (
    <Dialog
      title={title(titleOf(contact))}
      intro={intro}
      isOpen
      onClose={onClose}
      actions={
        <>
          <Button onClick={onClose}>{text.cancel}</Button>
          <Button look="danger" isBusy={isPending} onClick={() => mutate()}>
            {action}
          </Button>
        </>
      }
    >
      <div className={css.effects}>
        <Effects title={removal.removes} effects={removes} />
        <Effects title={removal.keeps} effects={keeps} />
        {error && <p role="alert">{faultText(error)}</p>}
      </div>
    </Dialog>
  )
}

function Effects({ title, effects }: { title: string; effects: readonly string[] }) {
  return (
    <div>
      <h3 className={css.title}>{title}</h3>
      <ul className={css.list}>
        {effects.map((effect) => (
          <li key={effect}>{effect}</li>
        ))}
      </ul>
    </div>
  )
}

function useRemoval(kind: Removal, { id }: Contact) {
  const client = useQueryClient()
  const leave = useLeave()
  return useMutation({
    mutationFn: () => api.deleteContact({ id, ...(kind === 'erase' && { erase: true }) }).catch(unlessGone),
    onSuccess: async () => {
      await leave()
      client.removeQueries({ queryKey: ['contact', id] })
      await client.invalidateQueries({ queryKey: ['contacts'] })
    },
  })
}

/** A contact that is gone is what was asked for: an earlier answer may have been lost. */
function unlessGone(error: unknown): void {
  if (!(error instanceof ApiError && error.status === 404)) throw error
}
