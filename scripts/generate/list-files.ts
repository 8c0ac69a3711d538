import { globSync, readFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'

/** The lists that name each file of a folder, so that an event kind or a provider is added by its own files. */
export const listFiles = (root: string): Record<string, string> => ({
  'src/webhooks/events/record-kinds.ts': recordKinds(filesOf(root, 'src/webhooks/events/kinds/*.ts')),
  'src/providers/provider-names.ts': providerNames(root, filesOf(root, 'src/providers/*/*.ts')),
  'src/wiring/events/event-formats.ts': eventFormats(root, filesOf(root, 'src/providers/*/*-events.ts')),
})

const filesOf = (root: string, pattern: string): string[] =>
  globSync(pattern, { cwd: root })
    .filter((file) => !file.endsWith('.test.ts'))
    .toSorted()

const nameOf = (file: string): string => basename(file, '.ts')
const toCamelCase = (name: string): string => name.replace(/-(.)/g, (_, letter: string) => letter.toUpperCase())
const notice = (from: string): string => `// Generated from ${from} by \`npm run generate\`. Do not edit.\n\n`

/** A kind is exported under the name of its file. */
function recordKinds(files: readonly string[]): string {
  const names = files.map(nameOf)
  const imports = names.map((name) => `import { ${toCamelCase(name)} } from './kinds/${name}.ts'\n`)
  const entries = names.map((name) => `  [${toCamelCase(name)}.name]: ${toCamelCase(name)},\n`)
  return `${notice('the files of kinds/')}import type { RecordEventName } from '../../changes/record-change.ts'
import type { RecordEventKind } from './event-kind.ts'
${imports.join('')}
/** Events about records of the API, by name. */
export const RECORD_EVENTS: { readonly [Name in RecordEventName]: RecordEventKind<Name> } = {
${entries.join('')}}
`
}

/** A provider's adapter has the name of its folder and exports `create<Name>Provider`. */
function providerNames(root: string, files: readonly string[]): string {
  const isAdapter = (file: string): boolean =>
    nameOf(file) === basename(dirname(file)) &&
    /^export (?:function|const) create\w+Provider\b/m.test(readFileSync(join(root, file), 'utf8'))
  const names = files.filter(isAdapter).map((file) => `'${nameOf(file)}'`)
  return `${notice('the folders of adapters')}/** The names of the transports, as numbers are connected and envelopes name them. */
export const PROVIDER_NAMES = [${names.join(', ')}] as const
`
}

/** What the files `<name>-events.ts` export as an `EventFormat` or a `GraphExtension`. */
function eventFormats(root: string, files: readonly string[]): string {
  const exportsOf = (file: string, type: string): string[] => {
    const text = readFileSync(join(root, file), 'utf8')
    return [...text.matchAll(/^export const (\w+): (\w+)/gm)].flatMap(([, name = '', own]) =>
      own === type ? [name] : [],
    )
  }
  const all = (type: string): string => files.flatMap((file) => exportsOf(file, type)).join(', ')
  const imports = files.flatMap((file) => {
    const names = [...exportsOf(file, 'EventFormat'), ...exportsOf(file, 'GraphExtension')]
    return names.length === 0 ? [] : [`import { ${names.join(', ')} } from '../../${file.slice('src/'.length)}'\n`]
  })
  return `${notice('the files <name>-events.ts of providers')}${imports.join('')}
/** The formats of providers that do not pass Meta's events on. */
export const FORMATS = [${all('EventFormat')}]
/** The additions of providers to Meta's events. */
export const EXTENSIONS = [${all('GraphExtension')}]
`
}
