/**
 * The contract about consent as a model: a ledger of statements, each under some identities, and links between the identities
 * of one person. The last statement under any of the linked identities counts for each of them.
 */
export type Entry = { value: boolean; saidAt: number }

export class Ledger {
  private readonly entries = new Map<string, Entry[]>()
  private links: [string, string][] = []
  private readonly events = new Set<string>()

  /** An event that comes again says nothing new. */
  say(identities: readonly string[], entry: Entry, event?: string): void {
    if (event !== undefined && this.events.has(event)) return
    if (event !== undefined) this.events.add(event)
    for (const one of identities) this.entries.set(one, [...(this.entries.get(one) ?? []), entry])
  }

  /** The identities are one person's. */
  link(...identities: (string | null)[]): void {
    const present = identities.filter((one) => one !== null)
    for (const other of present.slice(1)) this.links.push([present[0] ?? '', other])
  }

  /** A person was erased: an opt-out that counted stays under each identity, an opt-in and the links do not. */
  erase(identity: string): void {
    const all = this.linkedTo(identity)
    const last = this.last(identity)
    for (const one of all) this.entries.set(one, last?.value === false ? [last] : [])
    this.links = this.links.filter(([one]) => !all.has(one))
  }

  last(identity: string): Entry | undefined {
    const entries = [...this.linkedTo(identity)].flatMap((one) => this.entries.get(one) ?? [])
    return entries.toSorted((a, b) => a.saidAt - b.saidAt).at(-1)
  }

  linkedTo(identity: string): Set<string> {
    const found = new Set([identity])
    for (let size = 0; size < found.size; ) {
      size = found.size
      for (const [one, other] of this.links) if (found.has(one) || found.has(other)) found.add(one).add(other)
    }
    return found
  }
}
