import { useQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import type { CustomField } from '../../client/src/generated/schemas.ts'
import { Button, IconButton } from '../parts/button.tsx'
import { Empty } from '../parts/feedback/empty.tsx'
import { Failure } from '../parts/feedback/failure.tsx'
import { Skeleton } from '../parts/lists/skeleton.tsx'
import pane from '../parts/pane.module.css'
import { Screen } from '../shell/screen.tsx'
import { fieldText } from '../texts/fields.ts'
import { FieldForm } from './field-form.tsx'
import { OfferedFields, RetiredFields } from './field-list.tsx'
import { fieldsQuery, isOffered } from './field-queries.ts'
import css from './fields.module.css'

/** The definitions of custom fields: their names, their order, and those that are retired. */
export const Fields = () => (
  <Screen title={fieldText.title} part="customFields">
    <Page />
  </Screen>
)

function Page() {
  const navigate = useNavigate()
  const { data: fields, error, refetch } = useQuery(fieldsQuery)
  const [shown, show] = useState<'new' | CustomField>()
  const add = () => show('new')
  return (
    <div className={pane.pane}>
      <header className={pane.head}>
        <IconButton
          icon="back"
          label={fieldText.toContacts}
          onClick={() => navigate({ to: '/contacts/{-$id}', params: {} })}
        />
        <h2 className={pane.title}>{fieldText.title}</h2>
        <Button icon="plus" onClick={add}>
          {fieldText.add}
        </Button>
      </header>
      <div className={css.body}>
        {fields === undefined ? (
          error ? (
            <Failure error={error} retry={refetch} />
          ) : (
            <Skeleton rows={5} />
          )
        ) : fields.length === 0 ? (
          <Empty icon="template" title={fieldText.none} text={fieldText.noneText}>
            <Button look="primary" icon="plus" onClick={add}>
              {fieldText.add}
            </Button>
          </Empty>
        ) : (
          <>
            <OfferedFields fields={fields} onEdit={show} />
            <RetiredFields fields={fields.filter((field) => !isOffered(field))} />
          </>
        )}
      </div>
      {shown !== undefined && (
        <FieldForm
          {...(shown !== 'new' && { field: shown })}
          categories={categoriesOf(fields ?? [])}
          onClose={() => show(undefined)}
        />
      )}
    </div>
  )
}

const categoriesOf = (fields: readonly CustomField[]): string[] =>
  [...new Set(fields.flatMap(({ category }) => category ?? []))].sort()
