import { queryOptions, useQuery, useQueryClient } from '@tanstack/react-query'
import { type FormEvent, useRef, useState } from 'react'
import type { Conversation, Template } from '../../../client/src/generated/schemas.ts'
import { api } from '../../client.ts'
import { Badge } from '../../parts/badge.tsx'
import { Button } from '../../parts/button.tsx'
import { Dialog } from '../../parts/dialog.tsx'
import { Empty } from '../../parts/empty.tsx'
import { Failure } from '../../parts/failure.tsx'
import { TextField } from '../../parts/forms/field.tsx'
import { SearchField } from '../../parts/forms/search-field.tsx'
import { Skeleton } from '../../parts/lists/skeleton.tsx'
import { text } from '../../texts/text.ts'
import { Media } from '../content/media.tsx'
import { inOrder, messagesQuery } from '../message-queries.ts'
import { newKey } from './draft.ts'
import { sendMessage } from './outbox.ts'
import { contentOf, prefilled, previewOf, type Slot, slotsOf } from './template-form.ts'
import css from './template-picker.module.css'

const templatesQuery = queryOptions({
  queryKey: ['templates'],
  queryFn: async ({ signal }) => (await api.listWhatsAppTemplates({ signal })).data,
})

/** Chooses an approved template, fills it, shows how it looks, and sends it. */
export function TemplatePicker({ record, onClose }: { record: Conversation; onClose: () => void }) {
  const { data, error, refetch } = useQuery(templatesQuery)
  const [chosen, choose] = useState<Template>()
  const approved = data?.filter(({ status }) => status === 'APPROVED')
  return (
    <Dialog
      title={chosen ? `${chosen.name} · ${chosen.language}` : text.templates.title}
      isOpen
      onClose={onClose}
      size="large"
    >
      {chosen ? (
        <Form template={chosen} record={record} onBack={() => choose(undefined)} onDone={onClose} />
      ) : approved === undefined ? (
        error ? (
          <Failure
            error={error}
            retry={refetch}
            missing={{ title: text.templates.none, text: text.templates.noneText }}
          />
        ) : (
          <Skeleton rows={4} />
        )
      ) : (
        <Choice templates={approved} onChoose={choose} />
      )}
    </Dialog>
  )
}

function Choice({ templates, onChoose }: { templates: Template[]; onChoose: (template: Template) => void }) {
  const [search, setSearch] = useState('')
  if (templates.length === 0)
    return <Empty icon="template" title={text.templates.none} text={text.templates.noneText} />
  const searched = search.trim().toLowerCase()
  const found = templates.filter(
    (one) => one.name.toLowerCase().includes(searched) || previewOf(one, [], {}).body.toLowerCase().includes(searched),
  )
  return (
    <>
      <SearchField label={text.templates.search} value={search} onChange={setSearch} />
      {found.length === 0 && (
        <Empty icon="search" title={text.templates.noMatch}>
          <Button onClick={() => setSearch('')}>{text.clearSearch}</Button>
        </Empty>
      )}
      <ul className={css.list}>
        {found.map((one) => (
          <li key={`${one.id} ${one.language}`}>
            <button type="button" className={css.choice} onClick={() => onChoose(one)}>
              <span className={css.name}>{one.name}</span>
              <Badge>{one.language}</Badge>
              <span className={css.category}>{text.templates.categories(one.category)}</span>
              <span className={css.body} dir="auto">
                {previewOf(one, [], {}).body}
              </span>
            </button>
          </li>
        ))}
      </ul>
    </>
  )
}

type FormProps = { template: Template; record: Conversation; onBack: () => void; onDone: () => void }

function Form({ template, record: { chatId, contact }, onBack, onDone }: FormProps) {
  const client = useQueryClient()
  const slots = slotsOf(template)
  const [values, setValues] = useState(() => prefilled(template, slots, contact.name))
  const [isMissing, setMissing] = useState(false)
  const key = useRef(newKey())
  const preview = previewOf(template, slots, values)
  const submit = (event: FormEvent) => {
    event.preventDefault()
    if (slots.some(({ id }) => !values[id]?.trim())) return setMissing(true)
    const afterId = inOrder(client.getQueryData(messagesQuery(chatId).queryKey)).at(-1)?.id ?? 0
    sendMessage({
      key: key.current,
      chatId,
      content: contentOf(template, slots, values),
      shownText: preview.body,
      afterId,
    })
    onDone()
  }
  return (
    <form onSubmit={submit} className={css.form} noValidate>
      <div className={css.fields}>
        {slots.map((slot, index) => (
          <TextField
            key={slot.id}
            label={<Label slot={slot} />}
            placeholder={slot.example}
            value={values[slot.id] ?? ''}
            autoFocus={index === 0}
            maxLength={1_024}
            dir="auto"
            fault={isMissing && !values[slot.id]?.trim() ? text.templates.missing : undefined}
            onChange={(event) => setValues({ ...values, [slot.id]: event.target.value })}
          />
        ))}
        {slots.length === 0 && <p className={css.none}>{text.templates.noParameters}</p>}
      </div>
      <section aria-label={text.templates.preview} className={css.preview}>
        <div className={css.bubble} dir="auto">
          <HeaderFile slots={slots} values={values} />
          {preview.header && <p className={css.header}>{preview.header}</p>}
          <p className={css.text}>{preview.body}</p>
          {preview.footer && <p className={css.footer}>{preview.footer}</p>}
        </div>
        {preview.buttons.map((label) => (
          <p key={label} className={css.button}>
            {label}
          </p>
        ))}
      </section>
      <div className={css.actions}>
        <Button icon="back" onClick={onBack}>
          {text.back}
        </Button>
        <Button type="submit" look="primary" icon="send">
          {text.templates.send}
        </Button>
      </div>
    </form>
  )
}

/** The sentence that the value completes, as the customer reads it. */
function Label({ slot: { media, sentence } }: { slot: Slot }) {
  if (media !== null) return text.templates.mediaLink(text.conversation.media[media])
  return (
    <bdi>
      {sentence.before}
      <strong>{sentence.placeholder}</strong>
      {sentence.after}
    </bdi>
  )
}

/** The file of the header: a picture of the service itself shows, one at another host after a click. */
function HeaderFile({ slots, values }: { slots: Slot[]; values: Record<string, string> }) {
  const slot = slots.find(({ media }) => media !== null)
  if (slot?.media == null) return null
  const url = URL.parse(values[slot.id]?.trim() ?? '')?.href ?? null
  const media = { url, type: null, filename: null }
  return (
    <p className={css.file}>
      <Media key={url} message={{ type: slot.media, kind: slot.media, media }} />
    </p>
  )
}
