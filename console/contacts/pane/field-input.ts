import { contactText } from '../../texts/contacts.ts'
import type { FieldType } from '../field-value.tsx'

const { faults } = contactText

/** A value as a control shows it. */
export function toInput(type: FieldType, value: unknown): string {
  if (value === undefined || value === null) return ''
  if (type === 'json' || typeof value === 'object') return JSON.stringify(value, null, 2)
  if (type === 'datetime') return toLocal(String(value))
  return type === 'date' ? String(value).slice(0, 10) : String(value)
}

/** The value of a control as it is stored, or its fault. An empty control removes the value. */
export function fromInput(type: FieldType, input: string): { value: unknown } | { fault: string } {
  const text = input.trim()
  if (text === '') return { value: null }
  if (type === 'number') {
    const value = Number(text)
    return Number.isFinite(value) ? { value } : { fault: faults.number }
  }
  if (type === 'boolean') return { value: text === 'true' }
  if (type === 'datetime') {
    const at = new Date(text)
    return Number.isNaN(at.getTime()) ? { fault: faults.time } : { value: at.toISOString() }
  }
  if (type === 'json') return parseJson(text)
  return { value: text }
}

function parseJson(text: string): { value: unknown } | { fault: string } {
  try {
    return { value: JSON.parse(text) }
  } catch {
    return { fault: faults.json }
  }
}

/** A moment as `datetime-local` takes it: in the time zone of the browser, without seconds. */
function toLocal(iso: string): string {
  const at = new Date(iso)
  if (Number.isNaN(at.getTime())) return ''
  return new Date(at.getTime() - at.getTimezoneOffset() * 60_000).toISOString().slice(0, 16)
}
