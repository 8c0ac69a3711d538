import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import schema from '../outbound-message.schema.json' with { type: 'json' }

/** A send that the schema let through; only what the sandbox itself looks at. */
export type SendRequest = {
  to?: string
  recipient?: string
  type: string
  context?: { message_id: string }
  category?: string
  ttl_seconds?: number
  text?: { body: string }
  interactive?: Interactive
  location?: { latitude?: unknown; longitude?: unknown; name?: string }
  contacts?: { name?: { formatted_name?: string } }[]
  reaction?: { message_id: string; emoji: string }
  image?: MediaReference
  video?: MediaReference
  audio?: MediaReference
  document?: MediaReference
  sticker?: MediaReference
  template?: { name: string; language: { code: string }; components?: SendComponent[] }
}
/** An uploaded file by its id, or an address. */
export type MediaReference = { id?: string; link?: string }
/** An interactive message, as far as its limits are checked. */
export type Interactive = {
  type: string
  header?: { text?: string; image?: MediaReference; video?: MediaReference; document?: MediaReference }
  body?: { text?: string }
  footer?: { text?: string }
  action?: {
    name?: string
    button?: string
    buttons?: { reply?: { id?: string; title?: string } }[]
    sections?: { title?: string; rows?: { id?: unknown; title?: string; description?: string }[] }[]
    parameters?: {
      display_text?: string
      url?: string
      flow_id?: string
      flow_name?: string
      flow_cta?: string
      flow_token?: string
    }
  }
}
export type SendComponent = {
  type: string
  sub_type?: string
  index?: string | number
  parameters?: SendParameter[]
}
export type SendParameter = { type: string; text?: string; parameter_name?: string }

/** Marks a message as read: it shares the address of the sends and is none. */
export type ReadReceipt = { status: 'read'; message_id: string; typing_indicator?: unknown }

let compiled: ValidateFunction<SendRequest> | undefined
/** The shape is compiled at the first send: at each start it takes 0.1 s of processor time. */
function validator(): ValidateFunction<SendRequest> {
  compiled ??= new Ajv2020({ strict: false }).compile<SendRequest>(schema)
  return compiled
}

/** The send, a read receipt, or its first fault in one line. */
export function parseSend(value: unknown): { request: SendRequest } | { receipt: ReadReceipt } | { fault: string } {
  if (value === undefined) return { fault: 'The body is not valid JSON' }
  if (isReadReceipt(value)) return { receipt: value }
  const validate = validator()
  if (validate(value)) return { request: value }
  const [error] = validate.errors ?? []
  return { fault: `${error?.instancePath || 'body'} ${error?.message ?? 'is invalid'}` }
}

/** Whether a body marks a message as read. */
export function isReadReceipt(value: unknown): value is ReadReceipt {
  if (typeof value !== 'object' || value === null) return false
  return 'status' in value && value.status === 'read' && 'message_id' in value && typeof value.message_id === 'string'
}
