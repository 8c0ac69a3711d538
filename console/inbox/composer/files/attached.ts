import { useSyncExternalStore } from 'react'
import { SCOPE } from '../../../scope.ts'
import { MAX_FILES } from './file-limits.ts'
import { type Attached, dropFile, forgetFiles, keepFile, readFiles } from './file-store.ts'

/** The files of all conversations that are chosen or on their way. */
let attached: readonly Attached[] = []
const listeners = new Set<() => void>()
let loading: Promise<void> | undefined

/** Finds the files that the last page of this browser had, once. */
export function loadAttached(): Promise<void> {
  loading ??= readFiles(SCOPE).then((kept) => {
    const known = new Set(attached.map(({ key }) => key))
    change([...kept.filter(({ key }) => !known.has(key)), ...attached])
  })
  return loading
}

/** The attached files of all conversations; those of the outbox are on their way, all others wait in the answer. */
export const useAttached = (): readonly Attached[] => useSyncExternalStore(subscribe, () => attached)

export const attachedFile = (key: string): File | undefined => attached.find((one) => one.key === key)?.file

/** Adds files to the answer of a conversation that has `already` so many. */
export function attach(chatId: number, files: Iterable<File>, already: number): void {
  const added = [...files]
    .slice(0, Math.max(0, MAX_FILES - already))
    .map((file) => ({ key: crypto.randomUUID(), scope: SCOPE, chatId, file }))
  change([...attached, ...added])
  for (const one of added) void keepFile(one)
}

export function detach(key: string): void {
  if (attachedFile(key) === undefined) return
  change(attached.filter((one) => one.key !== key))
  void dropFile(key)
}

/** Forgets all files, at the end of a session. */
export async function forgetAttached(): Promise<void> {
  change([])
  await forgetFiles()
}

function change(next: readonly Attached[]): void {
  attached = next
  for (const listener of listeners) listener()
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}
