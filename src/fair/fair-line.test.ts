import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { createTestDatabase } from '../../test/database.ts'
import { createStatementBatcher } from '../db/statement-batcher.ts'

const { db } = await createTestDatabase()
await db`create table items (id integer primary key, note text)`

/** A run that waits until it is released, and records its batches. */
function heldRun() {
  const batches: number[][] = []
  const open: (() => void)[] = []
  const run = async (items: number[]): Promise<number[]> => {
    batches.push(items)
    await new Promise<void>((resolve) => open.push(resolve))
    return items.map((item) => item * 10)
  }
  const release = async (): Promise<void> => {
    open.shift()?.()
    await turn()
    await turn()
  }
  return { run, batches, release }
}

/** Until what was started in this turn of the event loop has started. */
const turn = () => new Promise<void>((resolve) => setImmediate(resolve))

const failure = (code: string): Error => Object.assign(new Error(code), { code })

describe('a batcher', () => {
  test('takes what arrives in one turn together while it has room, in the order of arrival', async () => {
    const { run, batches, release } = heldRun()
    const batch = createStatementBatcher({ run, maxItems: 3, maxRunning: 2 })
    const results = [batch(1), batch(2)]
    await turn()
    expect(batches).toEqual([[1, 2]])
    results.push(...[3, 4, 5, 6, 7, 8, 9].map((item) => batch(item)))
    await turn()
    expect(batches).toEqual([
      [1, 2],
      [3, 4, 5],
    ])
    await release()
    expect(batches.at(-1)).toEqual([6, 7, 8])
    await release()
    expect(batches.at(-1)).toEqual([9])
    await release()
    await release()
    expect(await Promise.all(results)).toEqual([10, 20, 30, 40, 50, 60, 70, 80, 90])
  })

  test('gathers what comes within its spacing, but not more than a run may have', async () => {
    vi.useFakeTimers()
    onTestFinished(() => void vi.useRealTimers())
    const { run, batches } = heldRun()
    const batch = createStatementBatcher({ run, maxItems: 3, maxRunning: 9, spacingMs: 20 })
    void batch(1)
    await vi.advanceTimersByTimeAsync(0)
    expect(batches).toEqual([[1]])
    void [2, 3].map((item) => batch(item))
    await vi.advanceTimersByTimeAsync(19)
    expect(batches).toEqual([[1]])
    await vi.advanceTimersByTimeAsync(1)
    expect(batches).toEqual([[1], [2, 3]])
    void [4, 5, 6].map((item) => batch(item))
    await vi.advanceTimersByTimeAsync(0)
    expect(batches).toEqual([[1], [2, 3], [4, 5, 6]])
    await vi.advanceTimersByTimeAsync(1_000)
    void batch(7)
    await vi.advanceTimersByTimeAsync(0)
    expect(batches).toEqual([[1], [2, 3], [4, 5, 6], [7]])
  })

  test('lets an item whose data the database refuses fail alone', async () => {
    const insert = createStatementBatcher({
      run: async (ids: number[]) => {
        await db`insert into items (id) select unnest(${ids}::integer[])`
        return ids
      },
      maxItems: 100,
      maxRunning: 1,
    })
    const results = await Promise.allSettled([1, 2, 2, 3].map((item) => insert(item)))
    expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled', 'rejected', 'fulfilled'])
    expect(results[2]).toMatchObject({ reason: { code: '23505' } })
    expect(await db`select id from items order by id`).toEqual([{ id: 1 }, { id: 2 }, { id: 3 }])
  })

  test('repeats a run after a deadlock, three times at most', async () => {
    const failing = (times: number) => {
      let runs = 0
      const run = async (items: number[]) => {
        runs += 1
        if (runs <= times) throw failure('40P01')
        return items
      }
      return { batch: createStatementBatcher({ run, maxItems: 10, maxRunning: 1 }), runs: () => runs }
    }
    const passing = failing(3)
    expect(await passing.batch(7)).toBe(7)
    expect(passing.runs()).toBe(4)
    const stuck = failing(9)
    await expect(stuck.batch(7)).rejects.toMatchObject({ code: '40P01' })
    expect(stuck.runs()).toBe(4)
  })

  test('gives every other error to every item, and goes on', async () => {
    let fail = true
    const run = async (items: number[]) => {
      if (fail) throw failure('CONNECTION_CLOSED')
      return items
    }
    const batch = createStatementBatcher({ run, maxItems: 2, maxRunning: 1 })
    const results = await Promise.allSettled([1, 2, 3].map((item) => batch(item)))
    expect(results.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected'])
    fail = false
    expect(await batch(4)).toBe(4)
  })

  test('takes a wrong number of results for a failure, and a throwing run for a rejection', async () => {
    const short = createStatementBatcher({ run: async (): Promise<number[]> => [], maxItems: 10, maxRunning: 1 })
    await expect(short(1)).rejects.toThrow('gave 0 results')
    const throwing = createStatementBatcher<number, number>({
      run: () => {
        throw new Error('no')
      },
      maxItems: 10,
      maxRunning: 1,
    })
    await expect(throwing(1)).rejects.toThrow('no')
  })

  const busy = { status: 503, headers: { 'retry-after': '1' } }

  test('refuses an item with 503 and Retry-After when too many wait, or too many bytes', async () => {
    const { run, batches, release } = heldRun()
    const batch = createStatementBatcher({
      run,
      maxItems: 9,
      maxRunning: 1,
      maxWaiting: 3,
      maxWaitingBytes: 100,
      bytesOf: (n) => n,
    })
    const results = [batch(1)]
    await turn()
    results.push(batch(60), batch(40))
    await expect(batch(1)).rejects.toMatchObject(busy)
    await release()
    expect(batches).toEqual([[1], [60, 40]])
    results.push(batch(2), batch(3), batch(4))
    await expect(batch(5)).rejects.toMatchObject(busy)
    await release()
    await release()
    expect(await Promise.all(results)).toEqual([10, 600, 400, 20, 30, 40])
  })

  test('bounds the bytes of one batch; a larger item goes alone', async () => {
    const { run, batches, release } = heldRun()
    const batch = createStatementBatcher({ run, maxItems: 9, maxRunning: 1, maxBytes: 10, bytesOf: (n) => n })
    void [6, 4, 5, 30, 1].map((item) => batch(item))
    await turn()
    await release()
    await release()
    await release()
    expect(batches).toEqual([[6, 4], [5], [30], [1]])
  })

  test('never runs an item whose caller is gone or that waited too long', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance', 'hrtime', 'Date'] })
    onTestFinished(() => void vi.useRealTimers())
    const { run, batches, release } = heldRun()
    const batch = createStatementBatcher({ run, maxItems: 9, maxRunning: 1, maxWaitMs: 2_000 })
    const held = batch(1)
    await turn()
    const caller = new AbortController()
    const gone = expect(batch(2, caller.signal)).rejects.toMatchObject(busy)
    const late = expect(batch(3)).rejects.toMatchObject(busy)
    caller.abort()
    await vi.advanceTimersByTimeAsync(1_500)
    const waited = batch(4)
    await vi.advanceTimersByTimeAsync(1_000)
    await Promise.all([gone, late])
    await release()
    expect(batches).toEqual([[1], [4]])
    await release()
    expect(await Promise.all([held, waited])).toEqual([10, 40])
  })

  test('lets companies take turns: while several wait, none has more than a third of a batch', async () => {
    const { run, batches, release } = heldRun()
    const batch = createStatementBatcher({ run, maxItems: 9, maxRunning: 1, companyOf: (n) => Math.floor(n / 100) })
    void batch(1)
    await turn()
    void [101, 102, 103, 104, 105, 201, 301, 302].map((item) => batch(item))
    for (let runs = 1; runs <= 3; runs += 1) await release()
    expect(batches).toEqual([[1], [101, 201, 301, 102, 302, 103], [104, 105]])
  })

  test('leaves room for others: one company fills at most a third of what may wait', async () => {
    const { run } = heldRun()
    const batch = createStatementBatcher({
      run,
      maxItems: 9,
      maxRunning: 1,
      maxWaiting: 9,
      maxWaitingBytes: 3_000,
      bytesOf: (n) => n,
      companyOf: (n) => Math.floor(n / 100),
    })
    void batch(901)
    await turn()
    void [101, 102, 103, 501].map((item) => batch(item))
    await expect(batch(104)).rejects.toMatchObject(busy)
    await expect(batch(502)).rejects.toMatchObject(busy)
    void [201, 202, 203].map((item) => batch(item))
  })
})
