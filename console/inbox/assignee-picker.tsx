import { Popover as Base } from '@base-ui/react/popover'
import { queryOptions, useQuery } from '@tanstack/react-query'
import { type RefObject, useRef, useState } from 'react'
import { fold } from '../../src/platform/text/search-text.ts'
import { api } from '../client.ts'
import { Avatar } from '../parts/avatar.tsx'
import { Failure } from '../parts/feedback/failure.tsx'
import { Icon } from '../parts/icon.tsx'
import { showMarked, useListbox } from '../parts/lists/listbox.ts'
import { Skeleton } from '../parts/lists/skeleton.tsx'
import { useSession } from '../shell/session-context.ts'
import { teamText } from '../texts/team.ts'
import { text } from '../texts/text.ts'
import css from './assignee-picker.module.css'

const assigneesQuery = queryOptions({
  queryKey: ['assignees'],
  queryFn: async ({ signal }) => (await api.listAssignees({ signal })).data.map(({ name }) => name),
})
/** Names that are shown at once; the search finds the others. */
const MAX_SHOWN = 50

type Props = {
  /** The button that opened it. */
  anchor: RefObject<HTMLElement | null>
  assignee: string | null
  onChoose: (assignee: string | null) => void
  onClose: () => void
}

/** A menu with search of everyone who can answer: the user first, and nobody. */
export function AssigneePicker({ anchor, assignee, onChoose, onClose }: Props) {
  const field = useRef<HTMLInputElement>(null)
  return (
    <Base.Root open onOpenChange={(open) => !open && onClose()}>
      <Base.Portal container={document.getElementById('content')}>
        <Base.Positioner
          className={css.positioner ?? ''}
          anchor={anchor}
          side="bottom"
          align="end"
          sideOffset={6}
          collisionPadding={8}
        >
          <Base.Popup
            className={css.popup ?? ''}
            aria-label={text.contact.assignee}
            initialFocus={field}
            finalFocus={anchor}
          >
            <Choices
              field={field}
              assignee={assignee}
              onChoose={(chosen) => {
                onChoose(chosen)
                onClose()
              }}
            />
          </Base.Popup>
        </Base.Positioner>
      </Base.Portal>
    </Base.Root>
  )
}

type ChoicesProps = Pick<Props, 'assignee' | 'onChoose'> & { field: RefObject<HTMLInputElement | null> }

function Choices({ field, assignee, onChoose }: ChoicesProps) {
  const { name: me } = useSession()
  const { data, error, refetch } = useQuery(assigneesQuery)
  const [search, setSearch] = useState('')
  const searched = fold(search)
  const people = [...new Set([me, ...(data ?? [])])]
  const found = people.filter((name) => fold(name).includes(searched))
  const shown: (string | null)[] = found.slice(0, MAX_SHOWN)
  const options = assignee !== null && searched === '' ? [null, ...shown] : shown
  const listbox = useListbox(options, search, onChoose)
  const labelOf = (name: string | null) =>
    name === null ? teamText.nobody : name === me ? text.contact.mine(me) : name
  return (
    <>
      <div className={css.search}>
        <Icon name="search" size={14} />
        <input
          {...listbox.control}
          ref={field}
          role="combobox"
          aria-expanded={options.length > 0}
          aria-label={teamText.searchPeople}
          placeholder={teamText.searchPeople}
          className={css.field}
          maxLength={100}
          value={search}
          onChange={(event) => setSearch(event.target.value)}
          onKeyDown={listbox.press}
        />
      </div>
      {error && data === undefined && <Failure error={error} retry={refetch} />}
      <ul {...listbox.list} aria-label={text.contact.assignee} className={css.list}>
        {options.map((name, place) => (
          <li key={name ?? ''} {...listbox.option(place, name)} ref={showMarked} className={css.option}>
            {name === null ? <Icon name="close" /> : <Avatar name={name} seed={name.length} />}
            <bdi className={css.name}>{labelOf(name)}</bdi>
            {name === assignee && <Icon name="check" />}
          </li>
        ))}
      </ul>
      {data === undefined && error === null && <Skeleton rows={2} />}
      {options.length === 0 && <p className={css.note}>{teamText.noMatch}</p>}
      {found.length > MAX_SHOWN && <p className={css.note}>{teamText.more(found.length - MAX_SHOWN)}</p>}
    </>
  )
}
