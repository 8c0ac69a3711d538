import { NO_EVENTS } from '../src/changes/record-change.ts'
import type { HandleEventsDeps } from '../src/inbound/handling/handle-events.ts'
import { systemClock } from '../src/platform/clock.ts'
import { bodyReader } from '../src/wiring/events/body-reader.ts'
import type { TestDatabase } from './database.ts'

/** Builds dependencies for handling events without receivers, media or live pages. */
export const handlingDeps = (db: TestDatabase['db'], others: Partial<HandleEventsDeps> = {}): HandleEventsDeps => ({
  db,
  events: bodyReader,
  clock: systemClock,
  sourceType: 'parley',
  decrypt: (sealed) => sealed,
  forward: async () => () => {},
  copyMedia: async () => () => {},
  publish: () => {},
  onAccountEvents: () => {},
  giveBackPlaces: async () => {},
  recordEvents: NO_EVENTS,
  onUnhandled: () => {},
  ...others,
})

/** Builds the provider's body for one text message to a connected number. */
export const textBody = (number: string, wamid: string, text = 'Hello') =>
  Buffer.from(
    JSON.stringify({
      entry: [
        {
          changes: [
            {
              field: 'messages',
              value: {
                metadata: { phone_number_id: number },
                messages: [{ from: '393331', id: wamid, timestamp: '1760000000', type: 'text', text: { body: text } }],
              },
            },
          ],
        },
      ],
    }),
  )
