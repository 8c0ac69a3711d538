import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { type FormEvent, useState } from 'react'
import type { QuickReply } from '../../../client/src/generated/schemas.ts'
import { ApiError, api } from '../../client.ts'
import { quickRepliesQuery } from '../../inbox/composer/quick-replies/quick-replies-query.ts'
import { Button, IconButton } from '../../parts/button.tsx'
import { Empty } from '../../parts/feedback/empty.tsx'
import { Failure } from '../../parts/feedback/failure.tsx'
import { faultText } from '../../parts/feedback/failure-text.ts'
import { LinesField, TextField } from '../../parts/forms/field.tsx'
import { fieldFault, isOfOthers } from '../../parts/forms/field-fault.ts'
import { Skeleton } from '../../parts/lists/skeleton.tsx'
import { Dialog } from '../../parts/popups/dialog.tsx'
import { teamText } from '../../texts/team.ts'
import { text } from '../../texts/text.ts'
import css from './quick-replies-dialog.module.css'

/** The quick replies of the company, each of which is changed in its place, and a form for new ones. */
export function QuickRepliesDialog({ onClose }: { onClose: () => void }) {
  const { data, error, refetch } = useQuery(quickRepliesQuery)
  const [edited, edit] = useState<number | 'new'>()
  const leave = () => edit(undefined)
  return (
    <Dialog
      title={teamText.quickReplies}
      intro={teamText.intro}
      isOpen
      onClose={onClose}
      size="large"
      actions={
        edited === undefined && (
          <Button look="primary" icon="plus" onClick={() => edit('new')}>
            {teamText.add}
          </Button>
        )
      }
    >
      {edited === 'new' && <Editor onDone={leave} />}
      {data === undefined ? (
        error ? (
          <Failure error={error} retry={refetch} />
        ) : (
          <Skeleton />
        )
      ) : (
        data.length === 0 && edited === undefined && <Empty icon="bolt" title={teamText.none} />
      )}
      <ul className={css.list}>
        {data?.map((reply) => (
          <li key={reply.id} className={css.row}>
            {edited === reply.id ? (
              <Editor reply={reply} onDone={leave} />
            ) : (
              <Row reply={reply} onEdit={() => edit(reply.id)} />
            )}
          </li>
        ))}
      </ul>
    </Dialog>
  )
}

function Row({ reply: { id, title, text: content }, onEdit }: { reply: QuickReply; onEdit: () => void }) {
  const [isAsking, ask] = useState(false)
  const { mutate, isPending, error } = useChange(
    () => api.deleteQuickReply({ id }),
    () => ask(false),
  )
  if (isAsking) {
    return (
      <div className={css.question} role="alertdialog" aria-label={teamText.removeQuestion(title)}>
        <p className={css.main}>
          {teamText.removeQuestion(title)} {error && <span role="alert">{faultText(error)}</span>}
        </p>
        <Button onClick={() => ask(false)}>{text.cancel}</Button>
        <Button look="danger" isBusy={isPending} autoFocus onClick={() => mutate()}>
          {teamText.removeYes}
        </Button>
      </div>
    )
  }
  return (
    <>
      <div className={css.main}>
        <p className={css.title} dir="auto">
          /{title}
        </p>
        <p className={css.text} dir="auto">
          {content}
        </p>
      </div>
      <IconButton icon="edit" label={teamText.edit(title)} onClick={onEdit} />
      <IconButton icon="remove" label={teamText.remove(title)} onClick={() => ask(true)} />
    </>
  )
}

const MAX_TITLE = 60
const MAX_TEXT = 4_096

function Editor({ reply, onDone }: { reply?: QuickReply; onDone: () => void }) {
  const [title, setTitle] = useState(reply?.title ?? '')
  const [content, setContent] = useState(reply?.text ?? '')
  const body = { title: title.trim(), text: content.trim() }
  const { mutate, isPending, error } = useChange(
    () => (reply === undefined ? api.createQuickReply(body) : api.updateQuickReply({ id: reply.id }, body)),
    onDone,
  )
  const isTaken = error instanceof ApiError && error.status === 409
  const submit = (event: FormEvent) => {
    event.preventDefault()
    if (!isPending) mutate()
  }
  return (
    <form
      className={css.form}
      onSubmit={submit}
      noValidate
      aria-label={reply ? teamText.edit(reply.title) : teamText.add}
    >
      <TextField
        label={teamText.title}
        hint={teamText.titleHint}
        value={title}
        maxLength={MAX_TITLE}
        autoFocus
        dir="auto"
        fault={isTaken ? teamText.titleExists : fieldFault(error, 'title', teamText.enterTitle)}
        onChange={({ target }) => setTitle(target.value)}
      />
      <LinesField
        label={teamText.text}
        hint={teamText.textHint}
        value={content}
        maxLength={MAX_TEXT}
        rows={3}
        dir="auto"
        fault={fieldFault(error, 'text', teamText.enterText)}
        onChange={({ target }) => setContent(target.value)}
      />
      {error && !isTaken && isOfOthers(error, ['title', 'text']) && (
        <p role="alert" className={css.fault}>
          {faultText(error)}
        </p>
      )}
      <div className={css.buttons}>
        <Button onClick={onDone}>{text.cancel}</Button>
        <Button type="submit" look="primary" isBusy={isPending}>
          {text.save}
        </Button>
      </div>
    </form>
  )
}

function useChange(change: () => Promise<unknown>, onDone: () => void) {
  const client = useQueryClient()
  return useMutation({
    mutationFn: change,
    onSuccess: async () => {
      await client.invalidateQueries({ queryKey: quickRepliesQuery.queryKey })
      onDone()
    },
  })
}
