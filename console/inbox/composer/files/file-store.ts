/** A file that was attached to the answer of a conversation, under the key of its send. */
export type Attached = { key: string; scope: string; chatId: number; file: File }

const DATABASE = 'parley'
const FILES = 'files'

/** The browser keeps attached files until they are sent, so that a reload loses none. Without its database they live in the page. */
export const keepFile = (attached: Attached): Promise<unknown> =>
  change((store) => store.put(attached)).catch(() => undefined)

export const dropFile = (key: string): Promise<unknown> => change((store) => store.delete(key)).catch(() => undefined)

/** Forgets all files, at the end of a session. */
export const forgetFiles = (): Promise<unknown> => change((store) => store.clear()).catch(() => undefined)

/** The files of a company that were kept. */
export async function readFiles(scope: string): Promise<Attached[]> {
  try {
    const database = await open()
    const all: Attached[] = await resultOf(database.transaction(FILES).objectStore(FILES).getAll())
    return all.filter((one) => one.scope === scope)
  } catch {
    return []
  }
}

async function change(act: (store: IDBObjectStore) => IDBRequest): Promise<unknown> {
  const database = await open()
  return resultOf(act(database.transaction(FILES, 'readwrite').objectStore(FILES)))
}

let opened: Promise<IDBDatabase> | undefined

function open(): Promise<IDBDatabase> {
  opened ??= new Promise((resolve, reject) => {
    const request = indexedDB.open(DATABASE, 1)
    request.onupgradeneeded = () => request.result.createObjectStore(FILES, { keyPath: 'key' })
    request.onsuccess = () => resolve(request.result)
    request.onerror = () => reject(request.error)
  })
  return opened
}

const resultOf = <Result>(request: IDBRequest<Result>): Promise<Result> =>
  new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result)
    request.onerror = () => reject(request.error)
  })
