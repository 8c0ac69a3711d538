import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { useMemo, useState } from 'react'
import type { CustomField } from '../../client/src/generated/schemas.ts'
import { CONSENT_COLUMNS } from '../../src/platform/text/lists/consent-columns.ts'
import type { NamedStyle } from '../../src/platform/text/lists/list-scan.ts'
import { offeredFieldsQuery } from '../fields/field-queries.ts'
import { Button, IconButton } from '../parts/button.tsx'
import { Empty } from '../parts/feedback/empty.tsx'
import { faultText } from '../parts/feedback/failure-text.ts'
import { Skeleton } from '../parts/lists/skeleton.tsx'
import pane from '../parts/pane.module.css'
import { importText } from '../texts/imports.ts'
import { text } from '../texts/text.ts'
import { ConsentWordFields, useConsentWords } from './consent-words.tsx'
import { DefaultCountry } from './default-country.tsx'
import css from './imports.module.css'
import { type ListCheck, useListCheck } from './list-check.ts'
import { type ListHead, readListHead } from './list-file.ts'
import { guessTargets, mappingFault } from './list-mapping.ts'
import { ListPreview } from './list-preview.tsx'
import { ListReading } from './list-reading.tsx'
import { usePhones } from './phone-reading.ts'
import { useUpload } from './use-upload.ts'

const MAX_BYTES = 1024 ** 3
const NO_FIELDS: CustomField[] = []

/** `onLeave` is called too when the import has started. */
type Props = { file: File; onLeave: () => void }

/** Maps the columns of a file, shows its first rows and counts its faults before it is imported. */
export function NewImport({ file, onLeave }: Props) {
  const fields = useQuery(offeredFieldsQuery)
  const [named, name] = useState<NamedStyle>({})
  const head = useQuery({
    queryKey: ['list-head', file.name, file.size, file.lastModified, named],
    queryFn: async () => (await readListHead(file, named)) ?? null,
    placeholderData: keepPreviousData,
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
          {isNamed(named) && <Button onClick={() => name({})}>{importText.asFound}</Button>}
        </Empty>
      ) : head.data && !fields.isPending ? (
        <Mapping
          key={JSON.stringify(head.data.columns)}
          {...{ file, named, head: head.data, fields: fields.data ?? NO_FIELDS }}
          onName={name}
          onStarted={onLeave}
        />
      ) : (
        <Skeleton rows={6} />
      )}
    </section>
  )
}

const isNamed = ({ delimiter, encoding }: NamedStyle): boolean => delimiter !== undefined || encoding !== undefined

type MappingProps = {
  file: File
  head: ListHead
  named: NamedStyle
  fields: CustomField[]
  onName: (named: NamedStyle) => void
  onStarted: () => void
}

function Mapping({ file, head, named, fields, onName, onStarted }: MappingProps) {
  const [chosen, choose] = useState<readonly (string | null)[]>()
  const guessed = useMemo(() => guessTargets(head.format, head.columns, fields), [head, fields])
  const targets = chosen ?? guessed
  const consent = useConsentWords(head.columns)
  const fault = mappingFault(targets) ?? consent.fault
  const phones = usePhones()
  const check = useListCheck(file, fault === undefined ? head : undefined, targets, phones, consent.readWord)
  const { send, isSending, error } = useUpload({ file, head, targets, words: consent.words }, onStarted)
  const hasConsent =
    head.format === 'csv' && targets.some((target) => target !== null && CONSENT_COLUMNS.includes(target))
  const canSend = fault === undefined && check.isDone && check.rows > check.faulty
  return (
    <>
      <section className={css.reading} aria-label={importText.reading}>
        {head.format === 'csv' && <ListReading head={head} named={named} onName={onName} />}
        {targets.includes('phone') && phones && <DefaultCountry country={phones.country} />}
        {hasConsent && <ConsentWordFields texts={consent.texts} setTexts={consent.setTexts} />}
      </section>
      <ListPreview
        head={head}
        fields={fields}
        targets={targets}
        phones={phones}
        readConsent={consent.readWord}
        onMap={(place, target) => choose(targets.map((one, at) => (at === place ? target : one)))}
      />
      <footer className={css.foot}>
        <div role="status" className={css.words}>
          {fault ?? <Checked check={check} />}
        </div>
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
