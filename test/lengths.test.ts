import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseSync } from 'vite'
import { expect, test } from 'vitest'

/**
 * The length of functions and files (CONTRIBUTING.md): a reader sees a whole function at once, and a file does one thing.
 * Tests and their helpers are excluded.
 */
const ROOT = fileURLToPath(new URL('..', import.meta.url))
const MAX_LINES = 60
const MAX_FILE_LINES = 300
/** The words of the console, one line each. */
const LONG_FILES = ['console/texts/en.ts']

/** Longer functions that stay, each with its reason. Shorten a function before you extend this list. */
const ACCEPTED: readonly (readonly [file: RegExp, name: RegExp, reason: string])[] = [
  [/-routes\.ts$/, /Routes$/, 'the list of a group of routes, each a shape and a sentence'],
  [/^src\/metrics\.ts$/, /^createMetrics$/, 'the list of all metrics'],
]

type Found = { file: string; line: number; name: string; lines: number }

const files = globSync('{src,sandbox,bench,console,client/src,scripts}/**/*.{ts,tsx,mjs}', {
  cwd: ROOT,
  exclude: ['console/dist', 'client/src/generated', 'sandbox/test'],
}).filter((file) => !/\.test\.tsx?$|-suite\.ts$/.test(file))

/** Every function of a file. A function without a name has that of what it is assigned to, or returned from. */
function functionsOf(file: string): Found[] {
  const text = readFileSync(join(ROOT, file), 'utf8')
  const lineAt = (offset: number) => text.slice(0, offset).split('\n').length
  const list: Found[] = []
  const visit = (node: unknown, name: string): void => {
    if (Array.isArray(node)) for (const one of node) visit(one, name)
    if (!isNode(node)) return
    const own = nameOf(node) ?? name
    if (/^(FunctionDeclaration|FunctionExpression|ArrowFunctionExpression)$/.test(node.type)) {
      const line = lineAt(node.start)
      list.push({ file, line, name: own, lines: lineAt(node.end) - line + 1 })
    }
    for (const child of Object.values(node)) visit(child, own)
  }
  visit(parseSync(file, text).program, '')
  return list
}

type Node = { type: string; start: number; end: number; id?: unknown; key?: unknown }

const isNode = (value: unknown): value is Node =>
  typeof value === 'object' && value !== null && 'type' in value && 'start' in value && 'end' in value

function nameOf({ type, id, key }: Node): string | undefined {
  const named = /^(FunctionDeclaration|FunctionExpression|VariableDeclarator)$/.test(type) ? id : undefined
  const identifier = /^(Property|MethodDefinition)$/.test(type) ? key : named
  const name =
    typeof identifier === 'object' && identifier !== null && 'name' in identifier ? identifier.name : undefined
  return typeof name === 'string' ? name : undefined
}

const isAccepted = ({ file, name }: Found): boolean =>
  ACCEPTED.some(([inFile, ofName]) => inFile.test(file) && ofName.test(name))

const found = files.flatMap(functionsOf)

test('there is something to look at', () => expect(found.length).toBeGreaterThan(2_000))

test(`no function outside of tests has more than ${MAX_LINES} lines`, () => {
  const long = found.filter((one) => one.lines > MAX_LINES && !isAccepted(one))
  expect(long.map(({ file, line, name, lines }) => `${file}:${line} ${name}: ${lines} lines`)).toEqual([])
})

test(`no file outside of tests has more than ${MAX_FILE_LINES} lines`, () => {
  const linesOf = (file: string) => readFileSync(join(ROOT, file), 'utf8').split('\n').length - 1
  expect(files.filter((file) => linesOf(file) > MAX_FILE_LINES)).toEqual(LONG_FILES)
})

test('each accepted exception exists', () => {
  const unused = ACCEPTED.filter(
    ([inFile, ofName]) =>
      !found.some(({ file, name, lines }) => lines > MAX_LINES && inFile.test(file) && ofName.test(name)),
  )
  expect(unused.map(([, , reason]) => reason)).toEqual([])
})
