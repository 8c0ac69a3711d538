import type { ClientConnection } from './connections.ts'

type Holders = {
  add(address: string, connection: ClientConnection): void
  remove(connection: ClientConnection): void
  sharing(connection: ClientConnection): ReadonlySet<ClientConnection>
  isBeyond(connection: ClientConnection, bound: number): boolean
  byMost(): Generator<ReadonlySet<ClientConnection>>
}

const NONE: ReadonlySet<ClientConnection> = new Set()

/** Indexes addresses by connection count, so finding the largest holder needs no search. */
export function createHolders(): Holders {
  const addresses = new Map<ClientConnection, string>()
  const held = new Map<string, Set<ClientConnection>>()
  const byCount: Set<string>[] = []

  const move = (address: string, from: number, to: number): void => {
    byCount[from]?.delete(address)
    byCount[to] ??= new Set()
    if (to > 0) byCount[to].add(address)
    while (byCount.length > 0 && (byCount.at(-1)?.size ?? 0) === 0) byCount.pop()
  }
  const remove = (connection: ClientConnection): void => {
    const address = addresses.get(connection)
    if (address === undefined) return
    addresses.delete(connection)
    const own = held.get(address) ?? new Set()
    own.delete(connection)
    move(address, own.size + 1, own.size)
    if (own.size === 0) held.delete(address)
  }
  const sharing = (connection: ClientConnection) => held.get(addresses.get(connection) ?? '') ?? NONE
  function* byMost(): Generator<ReadonlySet<ClientConnection>> {
    for (let count = byCount.length - 1; count > 0; count -= 1) {
      for (const address of byCount[count] ?? []) yield held.get(address) ?? NONE
    }
  }
  return {
    add: (address, connection) => {
      if (addresses.get(connection) === address) return
      remove(connection)
      addresses.set(connection, address)
      const own = held.get(address) ?? new Set()
      held.set(address, own.add(connection))
      move(address, own.size - 1, own.size)
    },
    remove,
    sharing,
    isBeyond: (connection, bound) => sharing(connection).size > bound,
    byMost,
  }
}
