declare module 'pg-copy-streams' {
  import type { Readable, Writable } from 'node:stream'
  import type { Connection } from 'pg'

  interface CopyQuery {
    submit(connection: Connection): void
    handleError(error: Error): void
    handleCommandComplete(message: { text: string }): void
    handleReadyForQuery(): void
    handleCopyInResponse?(connection: Connection): void
  }
  export function from(text: string): Writable & CopyQuery
  export function to(text: string): Readable & CopyQuery
}
