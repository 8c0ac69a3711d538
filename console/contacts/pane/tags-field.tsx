import { type FormEvent, useState } from 'react'
import type { Contact } from '../../../client/src/generated/schemas.ts'
import { Button, IconButton } from '../../parts/button.tsx'
import { Badge } from '../../parts/feedback/badge.tsx'
import { controlClass } from '../../parts/forms/inline-form.tsx'
import { contactText } from '../../texts/contacts.ts'
import { useContactChange } from '../use-contact-change.ts'
import css from './section.module.css'

const { record } = contactText
const TAG_MAX_LENGTH = 100

/** The tags, each with a button that removes it, and a field that adds one. */
export function TagsField({ contact }: { contact: Contact }) {
  const { tags } = contact
  const [tag, setTag] = useState('')
  const { change, isBusy, fault } = useContactChange(contact, () => setTag(''))
  const add = (event: FormEvent) => {
    event.preventDefault()
    const added = tag.trim()
    if (added !== '' && !isBusy) change({ tags: [...tags.filter((one) => one !== added), added] })
  }
  return (
    <div className={css.fact}>
      <dt>{record.tags}</dt>
      <dd>
        <div className={css.edit}>
          {tags.length > 0 && (
            <ul className={css.tags}>
              {tags.map((one) => (
                <li key={one} className={css.tag}>
                  <Badge>{one}</Badge>
                  <IconButton
                    icon="close"
                    label={record.removeTag(one)}
                    className={css.remove}
                    disabled={isBusy}
                    onClick={() => change({ tags: tags.filter((other) => other !== one) })}
                  />
                </li>
              ))}
            </ul>
          )}
          <form onSubmit={add} className={css.add}>
            <input
              className={controlClass}
              aria-label={record.newTag}
              placeholder={record.newTag}
              maxLength={TAG_MAX_LENGTH}
              value={tag}
              onChange={({ target }) => setTag(target.value)}
            />
            <Button type="submit" isBusy={isBusy} disabled={tag.trim() === ''}>
              {record.addTag}
            </Button>
          </form>
          {fault && (
            <p role="alert" className={css.fault}>
              {fault}
            </p>
          )}
        </div>
      </dd>
    </div>
  )
}
