import { useLayoutEffect, useRef } from 'react'
import type { CustomField } from '../../client/src/generated/schemas.ts'
import { Button, IconButton } from '../parts/button.tsx'
import { announce } from '../parts/feedback/announcer.tsx'
import { Badge } from '../parts/feedback/badge.tsx'
import { faultText } from '../parts/feedback/failure-text.ts'
import { fieldText } from '../texts/fields.ts'
import { isOffered, useOrder, useRetirement } from './field-queries.ts'
import css from './fields.module.css'

type Step = -1 | 1
type ListProps = { fields: readonly CustomField[]; onEdit: (field: CustomField) => void }

/** The fields that are offered, in their order, which the buttons of each row change. */
export function OfferedFields({ fields, onEdit }: ListProps) {
  const offered = fields.filter(isOffered)
  const { mutate: order, error } = useOrder()
  const list = useRef<HTMLUListElement>(null)
  const moved = useRef<string>(undefined)
  // A row that changes its place loses the focus.
  useLayoutEffect(() => {
    if (moved.current !== undefined) list.current?.querySelector<HTMLElement>(moved.current)?.focus()
  })
  const move = (field: CustomField, step: Step) => {
    const from = offered.indexOf(field)
    const to = from + step
    if (to < 0 || to >= offered.length) return
    moved.current = `[data-move="${field.id} ${step}"]`
    announce(fieldText.moved(field.displayName, to + 1, offered.length))
    order([...offered.with(from, offered[to] ?? field).with(to, field), ...fields.filter((one) => !isOffered(one))])
  }
  return (
    <>
      <p className={css.intro}>{offered.length === 0 ? fieldText.noneOffered : fieldText.intro}</p>
      {error && <p role="alert">{faultText(error)}</p>}
      <ul
        ref={list}
        className={css.list}
        aria-label={fieldText.title}
        onBlur={() => {
          moved.current = undefined
        }}
      >
        {offered.map((field, place) => (
          <Offered
            key={field.id}
            field={field}
            isFirst={place === 0}
            isLast={place === offered.length - 1}
            onMove={(step) => move(field, step)}
            onEdit={() => onEdit(field)}
          />
        ))}
      </ul>
    </>
  )
}

type OfferedProps = {
  field: CustomField
  isFirst: boolean
  isLast: boolean
  onMove: (step: Step) => void
  onEdit: () => void
}

function Offered({ field, isFirst, isLast, onMove, onEdit }: OfferedProps) {
  const { id, displayName } = field
  const { mutate: retire, error, isPending } = useRetirement(field)
  return (
    <li className={css.row}>
      <About field={field} error={error} />
      <span className={css.actions}>
        {/* A button that cannot move the row any further keeps the focus. */}
        <IconButton
          icon="up"
          label={fieldText.up(displayName)}
          aria-disabled={isFirst || undefined}
          data-move={`${id} -1`}
          onClick={() => onMove(-1)}
        />
        <IconButton
          icon="down"
          label={fieldText.down(displayName)}
          aria-disabled={isLast || undefined}
          data-move={`${id} 1`}
          onClick={() => onMove(1)}
        />
        <IconButton icon="edit" label={fieldText.edit(displayName)} onClick={onEdit} />
        <Button
          look="quiet"
          isBusy={isPending}
          aria-label={fieldText.retireLabel(displayName)}
          onClick={() => retire(true)}
        >
          {fieldText.retire}
        </Button>
      </span>
    </li>
  )
}

/** Those that are not offered any more. */
export function RetiredFields({ fields }: { fields: readonly CustomField[] }) {
  if (fields.length === 0) return null
  return (
    <section className={css.retired} aria-label={fieldText.retired}>
      <h3 className={css.group}>{fieldText.retired}</h3>
      <p className={css.intro}>{fieldText.retiredText}</p>
      <ul className={css.list} aria-label={fieldText.retired}>
        {fields.map((field) => (
          <Retired key={field.id} field={field} />
        ))}
      </ul>
    </section>
  )
}

function Retired({ field }: { field: CustomField }) {
  const { mutate: retire, error, isPending } = useRetirement(field)
  return (
    <li className={css.row}>
      <About field={field} error={error} />
      <span className={css.actions}>
        <Button isBusy={isPending} aria-label={fieldText.offerLabel(field.displayName)} onClick={() => retire(false)}>
          {fieldText.offer}
        </Button>
      </span>
    </li>
  )
}

function About({ field, error }: { field: CustomField; error: unknown }) {
  const { displayName, key, type, category, visibility } = field
  return (
    <div className={css.about}>
      <h3 className={css.name}>
        <bdi>{displayName}</bdi>
      </h3>
      <p className={css.facts}>
        <code dir="ltr">{key}</code>
        <Badge>{fieldText.kinds[type]}</Badge>
        {category !== null && <bdi>{category}</bdi>}
        {!visibility && <Badge tone="warn">{fieldText.hidden}</Badge>}
      </p>
      {error !== null && error !== undefined && <p role="alert">{faultText(error)}</p>}
    </div>
  )
}
