import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import type { ContactImport } from '../../client/src/generated/schemas.ts'
import { api } from '../client.ts'
import { Button, IconButton } from '../parts/button.tsx'
import { Badge } from '../parts/feedback/badge.tsx'
import { Failure } from '../parts/feedback/failure.tsx'
import { faultText } from '../parts/feedback/failure-text.ts'
import { Skeleton } from '../parts/lists/skeleton.tsx'
import pane from '../parts/pane.module.css'
import { API_PREFIX } from '../scope.ts'
import { dateAndTime, number } from '../texts/format.ts'
import { importText } from '../texts/imports.ts'
import { hasEnded, importQuery, TONES } from './import-queries.ts'
import css from './imports.module.css'

const COUNTS = ['created', 'updated', 'unchanged', 'refused'] as const

/** One import: how far it is, and the rows that it refused. The live stream moves it on. */
export function ImportPane({ id }: { id: number }) {
  const { data, error, refetch } = useQuery(importQuery(id))
  const navigate = useNavigate({ from: '/imports/{-$id}' })
  const leave = () => navigate({ params: { id: undefined } })
  if (data === undefined) {
    if (error === null) return <Skeleton rows={5} />
    const missing = { title: importText.notFound, text: importText.notFoundText, onBack: leave }
    return <Failure error={error} retry={refetch} missing={missing} />
  }
  const { status, rows, rows_read, failure, created_at, refusals, delimiter, encoding } = data
  return (
    <article className={pane.pane} aria-label={importText.name(id)}>
      <header className={pane.head}>
        <IconButton icon="back" label={importText.back} onClick={leave} />
        <h2 className={css.id}>{importText.name(id)}</h2>
        <Badge tone={TONES[status]}>{importText.states[status]}</Badge>
        <time dateTime={created_at} className={css.soft}>
          {dateAndTime(created_at)}
        </time>
      </header>
      <div className={css.body}>
        {failure !== null && (
          <p role="alert" className={css.fault}>
            {failure}
          </p>
        )}
        <p className={css.soft}>
          {delimiter === null || encoding === null
            ? importText.lines
            : importText.csv(importText.delimiters[delimiter], importText.encodings[encoding])}
        </p>
        <div className={css.progress}>
          <progress max={Math.max(rows, 1)} value={rows_read} aria-label={importText.progress(rows_read, rows)} />
          <p>{importText.progress(rows_read, rows)}</p>
        </div>
        <dl className={css.counts}>
          {COUNTS.map((name) => (
            <div key={name}>
              <dt>{importText.counts[name]}</dt>
              <dd data-count={name}>{number(data[name])}</dd>
            </div>
          ))}
        </dl>
        {!hasEnded(data) && <Cancel id={id} />}
        {refusals.length > 0 && <Refusals list={data} />}
      </div>
    </article>
  )
}

function Cancel({ id }: { id: number }) {
  const client = useQueryClient()
  const { mutate, isPending, error } = useMutation({
    mutationFn: () => api.cancelImport({ id }),
    onSuccess: () => client.invalidateQueries({ queryKey: ['imports'] }),
  })
  return (
    <div className={css.line}>
      <Button isBusy={isPending} onClick={() => mutate()}>
        {importText.cancel}
      </Button>
      <span className={css.soft}>{importText.cancelHint}</span>
      {error && (
        <p role="alert" className={css.fault}>
          {faultText(error)}
        </p>
      )}
    </div>
  )
}

function Refusals({ list: { id, refused, refusals } }: { list: ContactImport }) {
  return (
    <section className={css.refusals} aria-label={importText.refusals}>
      <h3 className={css.strong}>{importText.refusals}</h3>
      {refusals.length < refused && <p className={css.soft}>{importText.refusalsShown(refusals.length, refused)}</p>}
      <p className={css.line}>
        <a className={css.download} href={`${API_PREFIX}/public/v1/contacts/imports/${id}/refused`} download>
          {importText.download}
        </a>
        <span className={css.soft}>{importText.downloadHint}</span>
      </p>
      <ol className={css.rows}>
        {refusals.map(({ line, reason }) => (
          <li key={line}>
            <span className={css.soft}>{importText.row(line)}</span> {reason}
          </li>
        ))}
      </ol>
    </section>
  )
}
