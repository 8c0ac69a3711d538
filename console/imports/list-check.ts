import { useEffect, useState } from 'react'
import type { ReadConsent } from '../../src/platform/text/lists/consent-columns.ts'
import type { ListHead } from './list-file.ts'
import { readRows } from './list-file.ts'
import { rowFault } from './list-mapping.ts'
import type { Phones } from './phone-reading.ts'

/** The rows of a list that were looked at, and how many have each fault. */
export type ListCheck = { rows: number; faulty: number; faults: ReadonlyMap<string, number>; isDone: boolean }

const NOTHING: ListCheck = { rows: 0, faulty: 0, faults: new Map(), isDone: false }

/** Looks at every row of a list under a mapping, in parts, so that the page goes on. Another mapping begins again. */
export function useListCheck(
  file: File,
  head: ListHead | undefined,
  targets: readonly (string | null)[],
  phones: Phones | undefined,
  readConsent: ReadConsent,
): ListCheck {
  const [check, setCheck] = useState(NOTHING)
  useEffect(() => {
    if (head === undefined || phones === undefined) return
    let isStopped = false
    const run = async () => {
      const faults = new Map<string, number>()
      let [rows, faulty] = [0, 0]
      setCheck(NOTHING)
      for await (const part of readRows(file, head)) {
        if (isStopped) return
        for (const row of part) {
          const fault = rowFault(row, targets, phones, readConsent)
          rows += 1
          if (fault === undefined) continue
          faulty += 1
          faults.set(fault, (faults.get(fault) ?? 0) + 1)
        }
        setCheck({ rows, faulty, faults: new Map(faults), isDone: false })
      }
      if (!isStopped) setCheck({ rows, faulty, faults, isDone: true })
    }
    void run()
    return () => {
      isStopped = true
    }
  }, [file, head, targets, phones, readConsent])
  return check
}
