import { types } from 'pg'
import { parse as parseArray } from 'postgres-array'
import { parseJsonText } from '../../platform/text/json-text.ts'

export type JsonValue =
  | null
  | string
  | number
  | boolean
  | Date
  | readonly JsonValue[]
  | { readonly [name: string]: JsonValue | undefined }

export class JsonParameter {
  readonly value: JsonValue
  constructor(value: JsonValue) {
    this.value = value
  }
}

type Scalar = string | number | bigint | boolean | Date | Uint8Array | null
export type Value = Scalar | JsonParameter | readonly Value[]

type Parser = (text: string) => unknown

const { builtins } = types
const toNumber = (text: string): number => Number(text)
const toDate = (text: string): Date => new Date(text)

/** Types parsed together with their array types; all others stay text. */
const PARSERS: [type: number, array: number, Parser?][] = [
  [builtins.BOOL, 1000, (text) => text === 't'],
  [builtins.BYTEA, 1001, (text) => Buffer.from(text.slice(2), 'hex')],
  [builtins.INT2, 1005, toNumber],
  [builtins.INT4, 1007, toNumber],
  [builtins.INT8, 1016, toNumber],
  [builtins.OID, 1028, toNumber],
  [builtins.FLOAT4, 1021, toNumber],
  [builtins.FLOAT8, 1022, toNumber],
  [builtins.DATE, 1182, toDate],
  [builtins.TIMESTAMP, 1115, toDate],
  [builtins.TIMESTAMPTZ, 1185, toDate],
  [builtins.JSON, 199, parseJsonText],
  [builtins.JSONB, 3807, parseJsonText],
  [builtins.TEXT, 1009],
  [builtins.VARCHAR, 1015],
  [builtins.BPCHAR, 1014],
  [builtins.NUMERIC, 1231],
  [builtins.UUID, 2951],
  [18, 1002], // "char"
  [19, 1003], // name
]
const parsers = new Map<number, Parser>(
  PARSERS.flatMap(([type, array, parser]): [number, Parser][] => [
    ...(parser === undefined ? [] : [[type, parser] satisfies [number, Parser]]),
    [array, (text) => parseArray(text, parser ?? asText)],
  ]),
)

const asText = (text: string): string => text

export const parserOf = (type: number): Parser | undefined => parsers.get(type)

/** Returns the declared parameter type; 0 lets the server infer one. */
export function typeOf(value: Value): number {
  if (typeof value !== 'object')
    return typeof value === 'boolean' ? builtins.BOOL : typeof value === 'bigint' ? builtins.INT8 : 0
  if (value instanceof Date) return builtins.TIMESTAMPTZ
  if (value instanceof JsonParameter) return builtins.JSONB
  return value instanceof Uint8Array ? builtins.BYTEA : 0
}

/** Throws RangeError for an invalid date, TypeError for a value without a database type. */
export function serialize(value: Value): string | Buffer | null {
  if (value === null || typeof value === 'string') return value
  if (value instanceof Uint8Array) return Buffer.from(value.buffer, value.byteOffset, value.byteLength)
  if (value instanceof JsonParameter) return value.value === null ? null : JSON.stringify(value.value)
  return Array.isArray(value) ? arrayText(value) : scalarText(value)
}

function scalarText(value: unknown): string {
  if (typeof value === 'number' || typeof value === 'bigint') return String(value)
  if (typeof value === 'boolean') return value ? 't' : 'f'
  if (value instanceof Date) return value.toISOString()
  throw new TypeError(`A parameter of a statement can't be ${value === undefined ? 'undefined' : 'an object'}`)
}

const arrayText = (values: readonly Value[]): string => `{${values.map(elementText).join(',')}}`

function elementText(value: Value): string {
  if (value === null) return 'null'
  if (Array.isArray(value)) return arrayText(value)
  const sent = serialize(value)
  if (sent === null) return 'null'
  return typeof sent === 'string' ? `"${sent.replaceAll(/[\\"]/g, '\\$&')}"` : `"\\\\x${sent.toString('hex')}"`
}
