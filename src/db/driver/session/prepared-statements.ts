import { randomBytes } from 'node:crypto'

export type Column = { name: string; parse: ((text: string) => unknown) | undefined }

/** `unsure`: the first execution failed, so the server may not know the statement. */
export type PreparedStatement = { readonly name: string; columns: Column[]; state: 'sent' | 'ready' | 'unsure' }

export class PreparedStatements {
  readonly #byTypes = new Map<string, Map<string, PreparedStatement>>()
  /** Behind a pooler, connections of several processes share a server session. */
  readonly #prefix = randomBytes(6).toString('base64url')
  #count = 0

  find(text: string, types: readonly number[]): PreparedStatement | undefined {
    return this.#byTypes.get(types.join())?.get(text)
  }

  add(text: string, types: readonly number[]): PreparedStatement {
    const prepared: PreparedStatement = { name: `${this.#prefix}${this.#count}`, columns: [], state: 'sent' }
    this.#count += 1
    const key = types.join()
    const ofTypes = this.#byTypes.get(key) ?? new Map<string, PreparedStatement>()
    this.#byTypes.set(key, ofTypes.set(text, prepared))
    return prepared
  }
}
