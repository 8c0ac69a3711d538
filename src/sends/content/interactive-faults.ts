import type { FieldFault } from '../../platform/errors.ts'
import { INTERACTIVE_LIMITS } from './interactive-shape.ts'

/** Parley's own bound, in characters of JSON. */
const LONGEST_FLOW_DATA = 32_768

type Fitting = {
  action?: {
    name?: string
    buttons?: readonly { reply?: { id?: string; title?: string } }[]
    sections?: readonly Section[]
    parameters?: { url?: string; flow_action_payload?: { data?: object } }
  }
}
type Section = { title?: string; rows?: readonly { id?: string }[] }

export function interactiveFaults({ action = {} }: Fitting): FieldFault[] {
  const { buttons = [], sections = [], parameters } = action
  const ofButton = (member: 'id' | 'title') =>
    repeated(buttons.map(({ reply }) => reply?.[member])).map((place) => ({
      path: `interactive.action.buttons[${place}].reply.${member}`,
      message: 'must differ from those of the other buttons',
    }))
  return [...ofButton('id'), ...ofButton('title'), ...sectionFaults(sections), ...flowFaults(parameters)]
}

function sectionFaults(sections: readonly Section[]): FieldFault[] {
  const path = 'interactive.action.sections'
  const rows = sections.flatMap((section, place) =>
    (section.rows ?? []).map(({ id }, row) => ({ id, path: `${path}[${place}].rows[${row}].id` })),
  )
  const tooMany = { path, message: `must have at most ${INTERACTIVE_LIMITS.rows} rows in all` }
  const untitled = sections.flatMap(({ title }, place) =>
    title === undefined ? [{ path: `${path}[${place}].title`, message: 'is required with several sections' }] : [],
  )
  return [
    ...(rows.length > INTERACTIVE_LIMITS.rows ? [tooMany] : []),
    ...(sections.length > 1 ? untitled : []),
    ...repeated(rows.map(({ id }) => id)).map((place) => ({
      path: rows[place]?.path ?? path,
      message: 'must differ from those of the other rows',
    })),
  ]
}

function flowFaults(parameters: NonNullable<Fitting['action']>['parameters']): FieldFault[] {
  const data = parameters?.flow_action_payload?.data
  if (data === undefined || JSON.stringify(data).length <= LONGEST_FLOW_DATA) return []
  const path = 'interactive.action.parameters.flow_action_payload.data'
  return [{ path, message: `must have at most ${LONGEST_FLOW_DATA} characters of JSON` }]
}

const repeated = (values: readonly (string | undefined)[]): number[] =>
  [...values.keys()].filter((place) => values[place] !== undefined && values.indexOf(values[place]) < place)
