import { expect, test } from 'vitest'
import { createTestDatabase } from '../../test/database.ts'
import { type RecordEvents, writeWithEvents } from './record-change.ts'

const { db } = await createTestDatabase()
await db`create table marks (text text not null)`

const marks = async () => (await db<{ text: string }[]>`select text from marks`).map(({ text }) => text)
const write = (text: string, events: RecordEvents) =>
  writeWithEvents({ db, events }, 'email.status', [1], {
    watch: async () => async () => [],
    write: (tx) => tx<{ text: string }[]>`insert into marks values (${text}) returning text`,
  })

test('a write whose events cannot be written is taken back', async () => {
  const publish = async () => {
    throw new Error('no events')
  }
  await expect(write('lost', { isSubscribed: () => true, publish })).rejects.toThrow('no events')
  expect(await marks()).toEqual([])
})

test('a write without receivers is one statement, and finds no changes', async () => {
  const events = { isSubscribed: () => false, publish: () => Promise.reject(new Error('no events')) }
  expect(await write('kept', events)).toEqual([{ text: 'kept' }])
  expect(await marks()).toEqual(['kept'])
})

test('a write of several statements, of which one could be kept without the other, is none', () => {
  // @ts-expect-error only a statement can be written without a transaction
  const several: Parameters<typeof writeWithEvents>[3]['write'] = async (tx) => {
    await tx`insert into marks values ('first')`
    return tx`insert into marks values ('second')`
  }
  expect(several).toBeDefined()
})
