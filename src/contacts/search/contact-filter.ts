import { type Static, Type } from 'typebox'
import type { FieldFault } from '../../platform/errors.ts'
import { textFaults } from '../../platform/text/json-text.ts'

export type ContactFilter = {
  readonly status?: string
  readonly tag?: string
  readonly emailConsent?: boolean | null
  readonly whatsappConsent?: boolean | null
  readonly field?: { readonly key: string; readonly value: string }
}

const CONSENTS = { yes: true, no: false, unknown: null } as const
type ConsentWord = keyof typeof CONSENTS

const consent = (channel: string) =>
  Type.Optional(
    // Validated in the handler, which reports all query faults at once.
    Type.Unsafe<string>({
      type: 'string',
      enum: Object.keys(CONSENTS),
      description: `Only contacts with this consent to marketing by ${channel}.`,
      'x-lenient': true,
    }),
  )

export const FILTER_QUERY = {
  status: Type.Optional(Type.String({ description: 'Only contacts with this status.' })),
  tag: Type.Optional(Type.String({ description: 'Only contacts with this tag.' })),
  emailConsent: consent('email'),
  whatsappConsent: consent('WhatsApp'),
  field: Type.Optional(
    Type.String({
      description:
        'Only contacts with this custom field value: key, colon and value, such as `LOYALTY_TIER:gold`. A number, `true` and `false` match as values and as text.',
    }),
  ),
}

const FilterQuery = Type.Object(FILTER_QUERY)

const FILTER_MAX_LENGTH = 200

export function readFilter(query: Static<typeof FilterQuery>): { filter: ContactFilter; faults: FieldFault[] } {
  const { status, tag, emailConsent, whatsappConsent, field } = query
  const texts = Object.entries({ status, tag, field })
  const choices = Object.entries({ emailConsent, whatsappConsent })
  const faults = [
    ...texts.flatMap(([path, text]) => textFaults(text, path)),
    ...texts.flatMap(([path, text]) =>
      text !== undefined && text.length > FILTER_MAX_LENGTH
        ? [{ path, message: `must not have more than ${FILTER_MAX_LENGTH} characters` }]
        : [],
    ),
    ...choices.flatMap(([path, choice]) =>
      choice === undefined || isConsent(choice) ? [] : [{ path, message: 'must be one of yes, no, unknown' }],
    ),
  ]
  const colon = field?.indexOf(':') ?? -1
  if (field !== undefined && colon < 1) faults.push({ path: 'field', message: 'must be a key, a colon and a value' })
  return {
    faults,
    filter: {
      ...(status !== undefined && { status }),
      ...(tag !== undefined && { tag }),
      ...(isConsent(emailConsent) && { emailConsent: CONSENTS[emailConsent] }),
      ...(isConsent(whatsappConsent) && { whatsappConsent: CONSENTS[whatsappConsent] }),
      ...(field !== undefined && { field: { key: field.slice(0, colon), value: field.slice(colon + 1) } }),
    },
  }
}

const isConsent = (word: string | undefined): word is ConsentWord => word !== undefined && word in CONSENTS

/** Returns whether the filter index applies; unknown consents are not indexed. */
export const isFilterIndexed = (filter: ContactFilter): boolean =>
  Object.values(filter).some((value) => value !== null && value !== undefined)

/** Returns the JSON values that match a filter text. */
export function fieldValues(value: string): (string | number | boolean)[] {
  if (value === 'true' || value === 'false') return [value, value === 'true']
  const isNumber = /^-?(?:0|[1-9][0-9]{0,14})(?:\.[0-9]{1,10})?$/.test(value)
  return isNumber ? [value, Number(value)] : [value]
}
