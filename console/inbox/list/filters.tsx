import { useNavigate } from '@tanstack/react-router'
import { Chip } from '../../parts/forms/chip.tsx'
import { PausedSearch } from '../../parts/forms/paused-search.tsx'
import { Select } from '../../parts/forms/select.tsx'
import type { InboxSearch } from '../../search.ts'
import { text } from '../../texts/text.ts'
import { useNumbers } from '../numbers.ts'
import css from './filters.module.css'

const STATUSES = [
  { value: 'open', label: text.status.open },
  { value: 'snoozed', label: text.status.snoozed },
  { value: 'closed', label: text.status.closed },
  { value: 'all', label: text.inbox.anyStatus },
] as const

/** The search and the filters of the list; the address holds them. */
export function Filters({ search }: { search: InboxSearch }) {
  const navigate = useNavigate({ from: '/inbox/{-$chatId}' })
  const senders = useNumbers()
  const set = (change: { [Key in keyof InboxSearch]: InboxSearch[Key] | undefined }) =>
    navigate({ search: (kept) => definedOnly({ ...kept, ...change }), replace: true })
  const numbers = senders.map(({ channelId, phoneNumber }) => ({ value: String(channelId), label: phoneNumber }))
  return (
    <div className={css.filters}>
      <PausedSearch
        label={text.inbox.search}
        hasKey
        value={search.search ?? ''}
        onChange={(query) => set({ search: query || undefined })}
      />
      <fieldset className={css.row} aria-label={text.inbox.filters}>
        <Select
          label={text.inbox.status}
          value={search.status ?? 'open'}
          choices={STATUSES}
          onChange={(status) => set({ status: status === 'open' ? undefined : status })}
        />
        {(numbers.length > 1 || search.channelId !== undefined) && (
          <Select
            label={text.inbox.number}
            value={String(search.channelId ?? '')}
            choices={[{ value: '', label: text.inbox.anyNumber }, ...numbers]}
            onChange={(id) => set({ channelId: id === '' ? undefined : Number(id) })}
          />
        )}
        <Chip isOn={search.unread === true} onChange={(isOn) => set({ unread: isOn || undefined })}>
          {text.inbox.unread}
        </Chip>
        <Chip isOn={search.mine === true} onChange={(isOn) => set({ mine: isOn || undefined })}>
          {text.inbox.mine}
        </Chip>
      </fieldset>
    </div>
  )
}

/** Without the members that are undefined. */
function definedOnly(search: { [Key in keyof InboxSearch]: InboxSearch[Key] | undefined }): InboxSearch {
  const { status, channelId, unread, mine, search: query } = search
  return {
    ...(status && { status }),
    ...(channelId && { channelId }),
    ...(unread && { unread }),
    ...(mine && { mine }),
    ...(query && { search: query }),
  }
}
