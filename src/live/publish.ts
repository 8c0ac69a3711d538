import type { Publish } from '../changes/live-change.ts'
import type { Db } from '../db/connect.ts'
import { notify } from './live-store.ts'
import { createCollector } from './notice.ts'

const TICK_MS = 100

/** Sends at most one notice per tick, outside any transaction. Lost notices are fine: clients must read again after gaps. */
export function createPublish(db: Db, onLost: (error: unknown) => void): Publish {
  const collector = createCollector()
  let isWaiting = false
  const send = async () => {
    const text = collector.take()
    if (text !== undefined) await notify(db, text).catch(onLost)
    isWaiting = false
    if (!collector.isEmpty()) wait()
  }
  const wait = () => {
    if (isWaiting) return
    isWaiting = true
    setTimeout(send, TICK_MS).unref()
  }
  return (changes) => {
    collector.add(changes)
    if (changes.length > 0) wait()
  }
}
