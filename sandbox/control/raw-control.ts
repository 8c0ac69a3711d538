import { Type } from 'typebox'
import { parserOf } from './bad-input.ts'
import type { ControlCall, ControlDeps } from './control-deps.ts'

const parseRaw = parserOf(
  Type.Object(
    {
      body: Type.Unknown(),
      headers: Type.Optional(Type.Record(Type.String(), Type.String())),
    },
    { additionalProperties: false },
  ),
)

/**
 * `POST /sandbox/raw`: any body, verbatim when it is a string, else as plain JSON. Headers of the request replace ours;
 * without a signature among them it is signed like every other event.
 */
export function sendRaw({ webhook }: ControlDeps, call: ControlCall) {
  const { body, headers = {} } = parseRaw(call.body)
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  const lowered = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value])
  return webhook.postBytes(Buffer.from(text), Object.fromEntries(lowered))
}

const parseTarget = parserOf(
  Type.Object(
    {
      url: Type.Union([Type.String({ pattern: '^https?://' }), Type.Null()]),
      appSecret: Type.Optional(Type.Union([Type.String({ minLength: 1 }), Type.Null()])),
    },
    { additionalProperties: false },
  ),
)

/** `PUT /sandbox/webhook`: where events go from now on, and how they are signed. */
export function setWebhook({ webhook }: ControlDeps, { body }: ControlCall) {
  const { url, appSecret } = parseTarget(body)
  webhook.target = { url: url ?? undefined, appSecret: appSecret ?? undefined }
  return { url, signed: webhook.target.appSecret !== undefined }
}
