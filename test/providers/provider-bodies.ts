import { existsSync, readFileSync } from 'node:fs'

/**
 * Bodies collected from providers, where a folder of them lies beside the repository; the tests that need it are skipped
 * where it does not.
 */
const folder = ['../../../shared/fixtures/', '../../../../shared/fixtures/']
  .map((path) => new URL(path, import.meta.url))
  .find((url) => existsSync(url))

const rowsOf = (path: string): Record<string, string>[] => {
  if (folder === undefined) return []
  const [head = '', ...lines] = readFileSync(new URL(path, folder), 'utf8').trim().split('\n')
  const names = head.split('\t')
  return lines.map((line) => Object.fromEntries(line.split('\t').map((cell, index) => [names[index] ?? '', cell])))
}

const bytesOf = (path: string): Buffer => (folder ? readFileSync(new URL(path, folder)) : Buffer.alloc(0))

/** Each with what it holds: how many messages, echoes, statuses and template status events. */
export const providerBodies = rowsOf('INDEX.tsv').map((row) => ({
  file: row.file ?? '',
  body: bytesOf(row.file ?? ''),
  counts: {
    messages: Number(row.n_messages),
    echoes: Number(row.n_echoes),
    statuses: Number(row.n_statuses),
    templateStatuses: Number(row.n_template_status),
  },
}))

export const signedBodies = rowsOf('raw-signed/SIGNATURES.tsv').map((row) => ({
  file: row.file ?? '',
  body: bytesOf(`raw-signed/${row.file}`),
  secret: row.app_secret ?? '',
  header: row.x_hub_signature_256 ?? '',
}))
