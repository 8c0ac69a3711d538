import { useMutation, useQueryClient } from '@tanstack/react-query'
import { type FormEvent, useId, useState } from 'react'
import type { CustomField } from '../../client/src/generated/schemas.ts'
import { ApiError, api } from '../client.ts'
import { Button } from '../parts/button.tsx'
import { faultText } from '../parts/feedback/failure-text.ts'
import { LinesField, SelectField, TextField } from '../parts/forms/field.tsx'
import { fieldFault, isOfOthers } from '../parts/forms/field-fault.ts'
import { Dialog } from '../parts/popups/dialog.tsx'
import { fieldText } from '../texts/fields.ts'
import { text } from '../texts/text.ts'
import { fieldsQuery } from './field-queries.ts'
import css from './fields.module.css'

type Kind = CustomField['type']
type Values = { name: string; key: string; kind: Kind; category: string; values: string }
type Faults = Partial<Record<keyof Values, string | undefined>>

const KINDS: readonly Kind[] = ['text', 'number', 'boolean', 'date', 'datetime', 'select', 'json']
const KEY = /^[A-Z][A-Z0-9_]{0,63}$/
const MEMBERS = ['displayName', 'key', 'category', 'allowedValues'] as const

type Props = { field?: CustomField; categories: readonly string[]; onClose: () => void }

/** Defines a field, or changes the name, the category and the values of one. */
export function FieldForm({ field, categories, onClose }: Props) {
  const form = useId()
  const { values, set, faults, submit, isPending, fault } = useFieldForm(field, onClose)
  return (
    <Dialog
      title={field ? fieldText.edit(field.displayName) : fieldText.addTitle}
      isOpen
      onClose={onClose}
      actions={
        <>
          <Button onClick={onClose}>{text.cancel}</Button>
          <Button type="submit" form={form} look="primary" isBusy={isPending}>
            {field ? text.save : fieldText.add}
          </Button>
        </>
      }
    >
      <form id={form} onSubmit={submit} className={css.form} noValidate>
        <TextField
          label={fieldText.name}
          maxLength={200}
          autoFocus
          value={values.name}
          onChange={({ target }) => set({ name: target.value })}
          fault={faults.name}
        />
        {field === undefined && (
          <>
            <TextField
              label={fieldText.key}
              hint={fieldText.keyHint}
              maxLength={64}
              dir="ltr"
              spellCheck={false}
              autoCapitalize="characters"
              value={values.key}
              onChange={({ target }) => set({ key: target.value })}
              fault={faults.key}
            />
            <SelectField
              label={fieldText.kind}
              hint={fieldText.kindHint}
              value={values.kind}
              onChange={({ target }) => set({ kind: KINDS.find((kind) => kind === target.value) ?? 'text' })}
            >
              {KINDS.map((kind) => (
                <option key={kind} value={kind}>
                  {fieldText.kinds[kind]}
                </option>
              ))}
            </SelectField>
          </>
        )}
        <TextField
          label={fieldText.category}
          maxLength={100}
          list={`${form}-categories`}
          value={values.category}
          onChange={({ target }) => set({ category: target.value })}
          fault={faults.category}
        />
        <datalist id={`${form}-categories`}>
          {categories.map((category) => (
            <option key={category} value={category} />
          ))}
        </datalist>
        {values.kind === 'select' && (
          <LinesField
            label={fieldText.values}
            hint={fieldText.valuesHint}
            value={values.values}
            onChange={({ target }) => set({ values: target.value })}
            fault={faults.values}
          />
        )}
        {fault !== undefined && (
          <p role="alert" className={css.fault}>
            {fault}
          </p>
        )}
      </form>
    </Dialog>
  )
}

function useFieldForm(field: CustomField | undefined, onDone: () => void) {
  const client = useQueryClient()
  const [values, setValues] = useState<Values>(() => ({
    name: field?.displayName ?? '',
    key: field?.key ?? '',
    kind: field?.type ?? 'text',
    category: field?.category ?? '',
    values: field?.allowedValues?.join('\n') ?? '',
  }))
  const [own, setOwn] = useState<Faults>({})
  // Of this form: repeated after a lost answer, it defines one field.
  const [idempotencyKey, renewKey] = useState(() => crypto.randomUUID())
  const { mutate, error, isPending, reset } = useMutation({
    mutationFn: () => store(field, values, idempotencyKey),
    onSuccess: async () => {
      await client.invalidateQueries(fieldsQuery)
      onDone()
    },
  })
  const set = (change: Partial<Values>) => {
    renewKey(crypto.randomUUID())
    setValues((held) => {
      const isNamed = field !== undefined || held.key !== keyOf(held.name)
      return { ...held, ...(change.name !== undefined && !isNamed && { key: keyOf(change.name) }), ...change }
    })
  }
  const submit = (event: FormEvent) => {
    event.preventDefault()
    if (isPending) return
    const found = faultsOf(values, field === undefined)
    setOwn(found)
    reset()
    if (Object.values(found).every((fault) => fault === undefined)) mutate()
  }
  const isTaken = error instanceof ApiError && error.status === 409 && error.code === ''
  const faults: Faults = {
    name: own.name ?? fieldFault(error, 'displayName', text.faults.name),
    key: own.key ?? (isTaken ? fieldText.faults.taken : fieldFault(error, 'key', fieldText.faults.key)),
    category: fieldFault(error, 'category', fieldText.faults.category),
    values: own.values ?? fieldFault(error, 'allowedValues', fieldText.faults.valuesExpected),
  }
  const fault = error && !isTaken && isOfOthers(error, MEMBERS) ? faultText(error) : undefined
  return { values, set, faults, submit, isPending, fault }
}

function faultsOf({ name, key, kind, values }: Values, isNew: boolean): Faults {
  return {
    name: name.trim() === '' ? text.faults.name : undefined,
    key: isNew && !KEY.test(key.trim().toUpperCase()) ? fieldText.faults.key : undefined,
    values: kind === 'select' && linesOf(values).length === 0 ? fieldText.faults.values : undefined,
  }
}

function store(field: CustomField | undefined, { name, key, kind, category, values }: Values, idempotencyKey: string) {
  const body = {
    displayName: name.trim(),
    category: category.trim() || null,
    ...(kind === 'select' && { allowedValues: linesOf(values) }),
  }
  if (field) return api.updateCustomField({ id: field.id }, body)
  return api.createCustomField({ ...body, key: key.trim(), type: kind }, { idempotencyKey })
}

/** The key that a name suggests: `LOYALTY_TIER` for "Loyalty tier". */
const keyOf = (name: string): string =>
  name
    .normalize('NFD')
    .toUpperCase()
    .replace(/\p{M}/gu, '')
    .replace(/[^A-Z0-9]+/g, '_')
    .replace(/^[\d_]+|_$/g, '')
    .slice(0, 64)

const linesOf = (lines: string): string[] => [
  ...new Set(
    lines
      .split('\n')
      .map((line) => line.trim())
      .filter((line) => line !== ''),
  ),
]
