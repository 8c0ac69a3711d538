import { type Static, Type } from 'typebox'
import { Value } from 'typebox/value'
import type { NumberWebhook } from '../world/account.ts'

const Headers = Type.Optional(Type.Record(Type.String(), Type.String()))
const Configuration = Type.Object({ url: Type.String({ pattern: '^https?://' }), headers: Headers })
const Meta = Type.Object({ headers: Headers })

/** 360dialog's `{url, headers}`; undefined for every other body. */
export function readConfiguration(body: string): NumberWebhook | undefined {
  const value = parse(body)
  return Value.Check(Configuration, value) ? toWebhook(value) : undefined
}

/** Gupshup's form: `url`, and in `meta` the headers as JSON; undefined for every other body. */
export function readSubscription(body: string): NumberWebhook | undefined {
  const form = new URLSearchParams(body)
  const meta = parse(form.get('meta') ?? '{}')
  const value = { url: form.get('url'), ...(Value.Check(Meta, meta) && meta) }
  return Value.Check(Configuration, value) ? toWebhook(value) : undefined
}

const toWebhook = ({ url, headers = {} }: Static<typeof Configuration>): NumberWebhook => ({
  url,
  headers: Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value])),
})

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
