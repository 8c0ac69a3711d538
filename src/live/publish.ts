import type { Publish } from '../changes/live-change.ts'
import type { Db } from '../db/connect.ts'
import { notify } from './live-store.ts'
import { createCollector } from './notice.ts'

/** Changes of this time share one notice. */
const TICK_MS = 100

/**
 * Collects changes and sends them as at most one notice per tick, outside of every transaction. Notices are hints: one that
 * cannot be sent is lost, and clients read again after every gap.
 */
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
