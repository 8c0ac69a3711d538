/** The rows of a statement, as they arrive. */
export class RowList extends Array<object> {
  #tag = ''

  // The result of `map`, for example, is an ordinary array.
  static override get [Symbol.species]() {
    return Array
  }

  /** How many rows the statement returned or wrote. */
  get count(): number {
    return Number(this.#tag.slice(this.#tag.lastIndexOf(' ') + 1)) || 0
  }

  /** The server ends a statement with a tag, such as `INSERT 0 5`. */
  complete(tag: string): void {
    this.#tag = tag
  }
}
