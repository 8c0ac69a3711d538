import { readFileSync } from 'node:fs'
import { SourceMap } from 'node:module'

const PLACE = /(file:\/\/[^\s()]+\.js):(\d+):(\d+)/

/** Node's --enable-source-maps would read every map at load: 27 MB and 0.15 s. Here, the first stack read does. */
export function showSourcesInStacks(): void {
  const maps = new Map<string, SourceMap | undefined>()
  const mapOf = (file: string): SourceMap | undefined => {
    if (!maps.has(file)) maps.set(file, readMap(file))
    return maps.get(file)
  }
  Error.prepareStackTrace = (error, sites) =>
    [headOf(error), ...sites.map((site) => `    at ${sourceOf(String(site), mapOf)}`)].join('\n')
}

function sourceOf(line: string, mapOf: (file: string) => SourceMap | undefined): string {
  return line.replace(PLACE, (place, file: string, row: string, column: string) => {
    const found = mapOf(file)?.findEntry(Number(row) - 1, Number(column) - 1)
    if (found === undefined || !('originalSource' in found)) return place
    return `${new URL(found.originalSource, file)}:${found.originalLine + 1}:${found.originalColumn + 1}`
  })
}

function readMap(file: string): SourceMap | undefined {
  try {
    return new SourceMap(JSON.parse(readFileSync(new URL(`${file}.map`), 'utf8')))
  } catch {
    return undefined
  }
}

function headOf(error: unknown): string {
  try {
    return String(error)
  } catch {
    return 'Error'
  }
}
