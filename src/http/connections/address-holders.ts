type Holders<Connection> = {
  add(address: string, connection: Connection): void
  remove(connection: Connection): void
  sharing(connection: Connection): ReadonlySet<Connection>
  isBeyond(connection: Connection, bound: number): boolean
  byMost(): Generator<ReadonlySet<Connection>>
}

/** Indexes addresses by connection count, so finding the largest holder needs no search. */
export function createHolders<Connection>(): Holders<Connection> {
  const none: ReadonlySet<Connection> = new Set()
  const addresses = new Map<Connection, string>()
  const held = new Map<string, Set<Connection>>()
  const byCount: Set<string>[] = []

  const move = (address: string, from: number, to: number): void => {
    byCount[from]?.delete(address)
    byCount[to] ??= new Set()
    if (to > 0) byCount[to].add(address)
    while (byCount.length > 0 && (byCount.at(-1)?.size ?? 0) === 0) byCount.pop()
  }
  const remove = (connection: Connection): void => {
    const address = addresses.get(connection)
    if (address === undefined) return
    addresses.delete(connection)
    const own = held.get(address) ?? new Set()
    own.delete(connection)
    move(address, own.size + 1, own.size)
    if (own.size === 0) held.delete(address)
  }
  const sharing = (connection: Connection) => held.get(addresses.get(connection) ?? '') ?? none
  function* byMost(): Generator<ReadonlySet<Connection>> {
    for (let count = byCount.length - 1; count > 0; count -= 1) {
      for (const address of byCount[count] ?? []) yield held.get(address) ?? none
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
