import { type TSchema, Type } from 'typebox'
import type { ChangeOf, RecordChange, RecordEventName } from '../../changes/record-change.ts'
import type { Db } from '../../db/connect.ts'
import type { NewEnvelope } from '../deliveries/delivery-store.ts'

export type EventKind = {
  name: string
  label: string
  operationId: string
  summary: string
  description: string
  shape: TSchema
  example: object
}

export type EventDeps = {
  mediaAddress: (companyId: number, messageId: number) => string
  now: () => Date
  newId: () => string
}

export type BuiltEvent = Pick<NewEnvelope, 'eventId' | 'messageId' | 'conversationId' | 'channelIds'> & {
  change: string
  data: object
}

export type RecordEventKind<Name extends RecordEventName = RecordEventName> = EventKind & {
  name: Name
  build(tx: Db, deps: EventDeps, companyId: number, changes: readonly ChangeOf<Name>[]): Promise<BuiltEvent[]>
}

const EXAMPLE_AT = '2026-03-02T09:30:01.204Z'

type Sample<Data> = { id: string; changes: readonly string[]; change: string; data: Data; dataExample: object }

/** Builds the schema and example of a record event. */
export function recordEvent<Name extends RecordEventName, Data extends TSchema>(
  name: Name,
  title: string,
  { id, changes, change, data, dataExample }: Sample<Data>,
) {
  const example = { version: '1', event: name, id, companyId: 1, createdAt: EXAMPLE_AT, change, data: dataExample }
  const shape = Type.Object(
    {
      version: Type.Literal('1', { description: 'Envelope version; unchanged by additions.' }),
      event: Type.Literal(name),
      id: Type.String({ description: 'Event id. Use it to detect repeats.' }),
      companyId: Type.Integer({ description: 'Company id.' }),
      createdAt: Type.String({ format: 'date-time', description: 'Event time.' }),
      change: Type.Enum([...changes], { description: 'What changed.' }),
      data,
    },
    { title, example },
  )
  return { shape, example }
}

/** Serializes the body of a record event. */
export const recordEventBody = (event: RecordChange['event'], companyId: number, at: Date, built: BuiltEvent): string =>
  JSON.stringify({
    version: '1',
    event,
    id: built.eventId,
    companyId,
    createdAt: at.toISOString(),
    change: built.change,
    data: built.data,
  })
