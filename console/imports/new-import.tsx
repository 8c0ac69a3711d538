import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useMemo, useState } from 'react'
import type { CustomField } from '../../client/src/generated/schemas.ts'
import { api } from '../client.ts'
import { offeredFieldsQuery } from '../fields/field-queries.ts'
import { Button, IconButton } from '../parts/button.tsx'
import { Empty } from '../parts/feedback/empty.tsx'
import { faultText } from '../parts/feedback/failure-text.ts'
import { Skeleton } from '../parts/lists/skeleton.tsx'
import pane from '../parts/pane.module.css'
import { importText } from '../texts/imports.ts'
import { text } from '../texts/text.ts'
import { DefaultCountry } from './default-country.tsx'
import css from './imports.module.css'
import { type ListCheck, useListCheck } from './list-check.ts'
import { type ListHead, readHead, toUpload } from './list-file.ts'
import { guessTargets, mappingFault } from './list-mapping.ts'
import { ListPreview } from './list-preview.tsx'
import { usePhones } from './phone-reading.ts'

const MAX_BYTES = 1024 ** 3
const NO_FIELDS: CustomField[] = []

/** `onLeave` is called too when the import has started. */
type Props = { file: File; onLeave: () => void }

/** Maps the columns of a file, shows its first rows and counts its faults before it is imported. */
export function NewImport({ file, onLeave }: Props) {
  const fields = useQuery(offeredFieldsQuery)
  const head = useQuery({
    queryKey: ['list-head', file.name, file.size, file.lastModified],
    queryFn: async () => (await readHead(file)) ?? null,
    staleTime: Number.POSITIVE_INFINITY,
    retry: false,
  })
  const isUnreadable = head.data === null || head.error !== null
  return (
    <section className={pane.pane} aria-label={importText.start}>
      <header className={pane.head}>
        <IconButton icon="back" label={text.back} onClick={onLeave} />
        <h2 className={css.name}>
          <bdi>{file.name}</bdi>
        </h2>
      </header>
      {file.size > MAX_BYTES || isUnreadable ? (
        <Empty icon="alert" title={isUnreadable ? importText.unreadable : importText.tooLarge}>
          <Button onClick={onLeave}>{importText.another}</Button>
        </Empty>
      ) : head.data && !fields.isPending ? (
        <Mapping file={file} head={head.data} fields={fields.data ?? NO_FIELDS} onStarted={onLeave} />
      ) : (
        <Skeleton rows={6} />
      )}
    </section>
  )
}

type MappingProps = { file: File; head: ListHead; fields: CustomField[]; onStarted: () => void }

function Mapping({ file, head, fields, onStarted }: MappingProps) {
  const [chosen, choose] = useState<readonly (string | null)[]>()
  const guessed = useMemo(() => guessTargets(head.format, head.columns, fields), [head, fields])
  const targets = chosen ?? guessed
  const fault = mappingFault(targets)
  const phones = usePhones()
  const check = useListCheck(file, fault === undefined ? head : undefined, targets, phones)
  const { send, isSending, error } = useUpload(file, head, targets, onStarted)
  const canSend = fault === undefined && check.isDone && check.rows > check.faulty
  return (
    <>
      <ListPreview
        head={head}
        fields={fields}
        targets={targets}
        phones={phones}
        onMap={(place, target) => choose(targets.map((one, at) => (at === place ? target : one)))}
      />
      <footer className={css.foot}>
        <div role="status" className={css.words}>
          {fault ?? <Checked check={check} />}
        </div>
        {targets.includes('phone') && phones && <DefaultCountry country={phones.country} />}
        {error && (
          <p role="alert" className={css.fault}>
            {faultText(error)}
          </p>
        )}
        <Button look="primary" disabled={!canSend} isBusy={isSending} onClick={send}>
          {isSending ? importText.sending : importText.submit(check.rows)}
        </Button>
      </footer>
    </>
  )
}

function Checked({ check: { rows, faulty, faults, isDone } }: { check: ListCheck }) {
  if (!isDone) return importText.checking(rows)
  return (
    <>
      <p>{importText.checked(rows, faulty)}</p>
      {faults.size > 0 && (
        <ul className={css.faults}>
          {[...faults].map(([fault, count]) => (
            <li key={fault}>{importText.faultCount(fault, count)}</li>
          ))}
        </ul>
      )}
    </>
  )
}

/** Sends the list once, however often it is pressed: a lost answer is asked for again with the same key. */
function useUpload(file: File, head: ListHead, targets: readonly (string | null)[], onStarted: () => void) {
  const client = useQueryClient()
  const navigate = useNavigate()
  const [keys] = useState(() => new Map<string, string>())
  const { mutate, isPending, error } = useMutation({
    mutationFn: async () => {
      const data = await toUpload(file, head, targets)
      const mapping = JSON.stringify(targets)
      const idempotencyKey = keys.get(mapping) ?? crypto.randomUUID()
      keys.set(mapping, idempotencyKey)
      const contentType = head.format === 'csv' ? 'text/csv' : 'application/x-ndjson'
      return (await api.importContacts({ contentType, data }, { idempotencyKey })).data
    },
    onSuccess: async ({ id }) => {
      void client.invalidateQueries({ queryKey: ['imports'] })
      await navigate({ to: '/imports/{-$id}', params: { id: String(id) } })
      onStarted()
    },
  })
  return { send: () => mutate(), isSending: isPending, error }
}
