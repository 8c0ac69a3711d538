import { queryOptions, useQuery, useQueryClient } from '@tanstack/react-query'
import { type FormEvent, useRef, useState } from 'react'
import type { Conversation, Template } from '../../../../client/src/generated/schemas.ts'
import { fold } from '../../../../src/platform/text/search-text.ts'
import { api } from '../../../client.ts'
import { Button } from '../../../parts/button.tsx'
import { Badge } from '../../../parts/feedback/badge.tsx'
import { Empty } from '../../../parts/feedback/empty.tsx'
import { Failure } from '../../../parts/feedback/failure.tsx'
import { TextField } from '../../../parts/forms/field.tsx'
import { SearchField } from '../../../parts/forms/search-field.tsx'
import { Skeleton } from '../../../parts/lists/skeleton.tsx'
import { Dialog } from '../../../parts/popups/dialog.tsx'
import { text } from '../../../texts/text.ts'
import { inOrder, messagesQuery } from '../../message-queries.ts'
import { newKey } from '../draft.ts'
import { sendMessage } from '../outbox.ts'
import { LaterButton } from '../scheduled/later-button.tsx'
import { contentOf, prefilled, previewOf, type Slot, slotsOf } from './template-form.ts'
import { HeaderPreview, TemplateHeader } from './template-header.tsx'
import css from './template-picker.module.css'

const templatesQuery = queryOptions({
  queryKey: ['templates'],
  queryFn: async ({ signal }) => (await api.listWhatsAppTemplates({}, { signal })).data,
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
  const searched = fold(search)
  const found = templates.filter(
    (one) => fold(one.name).includes(searched) || fold(previewOf(one, [], {}).body).includes(searched),
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

function Form({ template, record, onBack, onDone }: FormProps) {
  const { chatId, contact } = record
  const client = useQueryClient()
  const slots = slotsOf(template)
  const [values, setValues] = useState(() => prefilled(template, slots, contact.name))
  const [file, setFile] = useState<File>()
  const [isMissing, setMissing] = useState(false)
  const key = useRef(newKey())
  const isComplete = slots.every(({ id }) => values[id]?.trim())
  const send = (sendAt?: string) => {
    const afterId = inOrder(client.getQueryData(messagesQuery(chatId).queryKey)).at(-1)?.id ?? 0
    const content = { ...contentOf(template, slots, values), ...(sendAt !== undefined && { sendAt }) }
    const shownText = previewOf(template, slots, values).body
    void sendMessage({ key: key.current, chatId, content, shownText, afterId })
    onDone()
  }
  const submit = (event: FormEvent) => {
    event.preventDefault()
    setMissing(!isComplete)
    if (isComplete) send()
  }
  const change = (id: string, value: string) => setValues((before) => ({ ...before, [id]: value }))
  return (
    <form onSubmit={submit} className={css.form} noValidate>
      <div className={css.fields}>
        {slots.map((slot, index) => (
          <SlotField
            key={slot.id}
            slot={slot}
            isFirst={index === 0}
            value={values[slot.id] ?? ''}
            file={file}
            fault={isMissing && !values[slot.id]?.trim() ? text.templates.missing : undefined}
            onChange={(value, chosen) => {
              change(slot.id, value)
              if (slot.media !== null) setFile(chosen)
            }}
          />
        ))}
        {slots.length === 0 && <p className={css.none}>{text.templates.noParameters}</p>}
      </div>
      <Preview template={template} slots={slots} values={values} file={file} />
      <div className={css.actions}>
        <Button icon="back" onClick={onBack}>
          {text.back}
        </Button>
        <span className={css.space} />
        <LaterButton
          record={record}
          isTemplate
          onChoose={send}
          isReady={() => {
            setMissing(!isComplete)
            return isComplete
          }}
        />
        <Button type="submit" look="primary" icon="send">
          {text.templates.send}
        </Button>
      </div>
    </form>
  )
}

type SlotProps = {
  slot: Slot
  isFirst: boolean
  value: string
  file: File | undefined
  fault: string | undefined
  onChange: (value: string, file?: File) => void
}

function SlotField({ slot, isFirst, value, file, fault, onChange }: SlotProps) {
  if (slot.media !== null) {
    return <TemplateHeader kind={slot.media} value={value} file={file} fault={fault} onChange={onChange} />
  }
  return (
    <TextField
      label={<Label slot={slot} />}
      placeholder={slot.example}
      value={value}
      autoFocus={isFirst}
      maxLength={1_024}
      dir="auto"
      fault={fault}
      onChange={(event) => onChange(event.target.value)}
    />
  )
}

type PreviewProps = { template: Template; slots: Slot[]; values: Record<string, string>; file: File | undefined }

/** The message as the customer sees it. */
function Preview({ template, slots, values, file }: PreviewProps) {
  const preview = previewOf(template, slots, values)
  const header = slots.find(({ media }) => media !== null)
  return (
    <section aria-label={text.templates.preview} className={css.preview}>
      <div className={css.bubble} dir="auto">
        {header?.media != null && <HeaderPreview kind={header.media} value={values[header.id] ?? ''} file={file} />}
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
  )
}

/** The sentence that the value completes, as the customer reads it. */
function Label({ slot: { sentence } }: { slot: Slot }) {
  return (
    <bdi>
      {sentence.before}
      <strong>{sentence.placeholder}</strong>
      {sentence.after}
    </bdi>
  )
}
