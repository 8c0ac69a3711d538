/** A component as the provider lists it; members that we do not use are kept as they are. */
export type TemplateComponent = {
  type: string
  format?: string
  text?: string
  buttons?: TemplateButton[]
  [member: string]: unknown
}
export type TemplateButton = { type: string; text?: string; url?: string; [member: string]: unknown }

/** A template as the provider lists it. */
export type TemplateRecord = {
  id: string
  name: string
  language: string
  status: string
  category: string
  parameter_format: 'POSITIONAL' | 'NAMED'
  rejected_reason: string
  quality_score: { score: string; date?: number }
  components: TemplateComponent[]
  message_send_ttl_seconds?: number
}

/** The parameters that a send of the template must fill in, read from its components once. */
export type TemplateSlots = {
  named: boolean
  header: { kind: string; placeholders: string[] }
  body: { placeholders: string[] }
  buttons: ButtonSlot[]
}
/** One per button of the template; `subTypes` is what a send may call it, empty when it takes no parameter. */
export type ButtonSlot = { subTypes: string[]; required: boolean }

export type Template = { wabaAccountId: string; record: TemplateRecord; slots: TemplateSlots }

/** A template with the slots that its components have, read once. */
export const createTemplate = (wabaAccountId: string, record: TemplateRecord): Template => ({
  wabaAccountId,
  record,
  slots: readSlots(record),
})

function readSlots(record: TemplateRecord): TemplateSlots {
  const find = (type: string) => record.components.find((component) => component.type.toUpperCase() === type)
  const header = find('HEADER')
  return {
    named: record.parameter_format === 'NAMED',
    header: {
      kind: header === undefined ? 'none' : (header.format ?? 'TEXT').toLowerCase(),
      placeholders: placeholdersIn(header?.text),
    },
    body: { placeholders: placeholdersIn(find('BODY')?.text) },
    buttons: (find('BUTTONS')?.buttons ?? []).map(readButton),
  }
}

function placeholdersIn(text = ''): string[] {
  return [...new Set([...text.matchAll(/\{\{\s*([A-Za-z0-9_]+)\s*\}\}/g)].map((match) => match[1] ?? ''))]
}

function readButton(button: TemplateButton): ButtonSlot {
  switch (button.type.toUpperCase()) {
    case 'URL':
      return placeholdersIn(button.url).length > 0 ? { subTypes: ['url'], required: true } : TAKES_NOTHING
    case 'OTP':
      return { subTypes: ['url', 'copy_code'], required: true }
    case 'COPY_CODE':
      return { subTypes: ['copy_code'], required: true }
    case 'QUICK_REPLY':
      return { subTypes: ['quick_reply'], required: false }
    case 'FLOW':
    case 'CATALOG':
    case 'MPM':
    case 'ORDER_DETAILS':
    case 'VOICE_CALL':
      return { subTypes: [button.type.toLowerCase()], required: false }
    default:
      return TAKES_NOTHING
  }
}

const TAKES_NOTHING: ButtonSlot = { subTypes: [], required: false }
