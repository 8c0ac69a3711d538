import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { VoiceCall } from '../../providers/events/event-item.ts'
import { addToCall } from '../message-store.ts'

const RANG = '2026-03-02T09:30:00.000Z'
const ANSWERED = '2026-03-02T09:30:05.000Z'
const ENDED = '2026-03-02T09:31:00.000Z'
const connect: VoiceCall = {
  direction: 'inbound',
  status: 'ringing',
  startedAt: RANG,
  endedAt: null,
  events: ['connect'],
}
const ended = (status: VoiceCall['status'], startedAt: string | null): VoiceCall => ({
  direction: 'inbound',
  status,
  startedAt,
  endedAt: ENDED,
  events: ['terminate'],
})
const recorded: VoiceCall = { ...connect, status: 'completed', startedAt: null, events: ['call_recording_available'] }

const inOrder = (events: readonly VoiceCall[]): VoiceCall =>
  events.slice(1).reduce((known, event) => addToCall(known, event) ?? known, events[0] as VoiceCall)

test.each([
  ['answered', [connect, ended('completed', ANSWERED)], { status: 'completed', startedAt: ANSWERED, endedAt: ENDED }],
  ['not answered', [connect, ended('missed', null)], { status: 'missed', startedAt: RANG, endedAt: ENDED }],
  ['recorded', [connect, recorded], { status: 'completed', startedAt: RANG, endedAt: null }],
  [
    'recorded after its end',
    [connect, ended('completed', ANSWERED), recorded],
    { status: 'completed', startedAt: ANSWERED, endedAt: ENDED },
  ],
])('a call that is %s is the same in any order of its events', (_, events, expected) => {
  fc.assert(
    fc.property(fc.shuffledSubarray(events, { minLength: events.length }), fc.nat(), (shuffled, place) => {
      const repeated = [...shuffled, shuffled[place % shuffled.length] as VoiceCall]
      expect(inOrder(repeated)).toMatchObject(expected)
      expect(inOrder(repeated).events.toSorted()).toEqual(events.flatMap((event) => event.events).toSorted())
    }),
  )
})

test('an event that came before changes nothing', () => {
  expect(addToCall(connect, connect)).toBeUndefined()
})
