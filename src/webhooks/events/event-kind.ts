import { type TSchema, Type } from 'typebox'
import type { ChangeOf, RecordChange, RecordEventName } from '../../changes/record-change.ts'
import type { Db } from '../../db/connect.ts'
import type { NewEnvelope } from '../deliveries/delivery-store.ts'

/** A kind of event as registrations name it and the API reference describes it. */
export type EventKind = {
  name: string
  /** In the console. */
  label: string
  operationId: string
  summary: string
  description: string
  /** Of the whole body. */
  shape: TSchema
  example: object
}

/** The dependencies of builders, apart from the database. */
export type EventDeps = {
  /** Where the media of a message can be fetched. */
  mediaAddress: (companyId: number, messageId: number) => string
  now: () => Date
  /** A part of an event's id that no other event has. */
  newId: () => string
}

/** The event of a change, before it has the members that all events share. */
export type BuiltEvent = Pick<NewEnvelope, 'eventId' | 'messageId' | 'conversationId' | 'channelIds'> & {
  change: string
  data: object
}

/** An event about a record of the API: `build` reads the records in the transaction that changed them. */
export type RecordEventKind<Name extends RecordEventName = RecordEventName> = EventKind & {
  name: Name
  build(tx: Db, deps: EventDeps, companyId: number, changes: readonly ChangeOf<Name>[]): Promise<BuiltEvent[]>
}

const EXAMPLE_AT = '2026-03-02T09:30:01.204Z'

type Sample<Data> = { id: string; changes: readonly string[]; change: string; data: Data; dataExample: object }

/** The shape and the example of an event about a record: what all have in common, `change` and `data`. */
export function recordEvent<Name extends RecordEventName, Data extends TSchema>(
  name: Name,
  title: string,
  { id, changes, change, data, dataExample }: Sample<Data>,
) {
  const example = { version: '1', event: name, id, companyId: 1, createdAt: EXAMPLE_AT, change, data: dataExample }
  const shape = Type.Object(
    {
      version: Type.Literal('1', { description: 'The version of the envelope; additions do not change it.' }),
      event: Type.Literal(name),
      id: Type.String({ description: 'The id of the event, by which receivers recognise repetitions.' }),
      companyId: Type.Integer({ description: 'The id of the company.' }),
      createdAt: Type.String({ format: 'date-time', description: 'The time of the event.' }),
      change: Type.Enum([...changes], { description: 'The change that the event is about.' }),
      data,
    },
    { title, example },
  )
  return { shape, example }
}

/** The body of an event about a record, serialised once. */
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
