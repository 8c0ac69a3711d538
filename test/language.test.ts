import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'

/**
 * The language of the repository: plain technical English with the standard terms of the field (GLOSSARY.md). These
 * tests refuse private words in names and texts, and sentences that begin with a pronoun as a crutch. Rewrite the
 * sentence; extend ACCEPTED only for a word that another party defines.
 */
const ROOT = fileURLToPath(new URL('..', import.meta.url))

/** Generated files, copies of other projects, and this file. */
const EXCLUDED =
  /^(client\/src\/generated\/|schema\.sql|package-lock\.json|console\/api\.ts|test\/fixtures\/|test\/language\.test\.ts)/

/** A private word, and the standard word for it. Matched in names, split into words, and in texts. */
const PRIVATE_WORDS: readonly (readonly [RegExp, string])[] = [
  [/\bput(s|ting)? up\b/, 'enqueue'],
  [/\bset(s|ting)? aside\b/, 'dead-letter, fail, discard'],
  [/\blaps(e|es|ed|ing)\b/, 'lease expiry'],
  [/\b(take|takes|taken|taking|took) up\b/, 'requeue'],
  [/\blatecomers?\b/, 'requeue'],
  [/\b(hand(s|ed|ing)?|take|takes|taken|taking|took)[ -]over\b/, 'dispatch directly, claim, replace'],
  [/\boffer(s|ed|ing)? (an? |the |its |each |due )?(jobs?|batch(es)?|deliver(y|ies))\b/, 'dispatch directly'],
  [/\b(jobs?|deliver(y|ies)|work) units?\b|\bunits? of (jobs?|work|deliver(y|ies))\b/, 'batch'],
  [/\bbeg(in|ins|an|un) (an? |the |its )?(attempt|send)\b/, 'start'],
  [/\b(un)?settl(e|es|ed|ing|ements?)\b/, 'complete'],
  [/\bunplaced\b/, 'unhandled, unroutable'],
  [/\breach (counts?|rows?|store)\b|\bsender reach\b/, 'daily-limit ledger'],
  [/\bpace[sd]?\b/, 'throttle, slot'],
  [/\b(its|their|his|a|whose|company's|companies') turns?\b|\b(company|receiver) turns?\b/, 'slot'],
  [/\bthreads?\b/, 'conversation'],
  [/\bbags?\b/, 'unordered list'],
  [/\bvaults?\b/, 'blob store'],
  [/\bsurroundings\b|\btype (parts|given)\b/, 'environment, components, dependencies'],
  [/\bsurveys?\b/, 'sample'],
  [/\bruns? of (\w+ )?(letters|characters|digits)\b|\brun length\b/, 'trigrams'],
  [/\bin time\b/, 'with timeout, before the deadline'],
  [/\binsist(s|ed|ing)?\b/, 'retry until available, require'],
  [/\bwhile answering\b/, 'with heartbeat'],
  [/\bpeople (store|lock)\b/, 'identity store, identity lock'],
  [/\bwritten[ -]text\b/, 'storable text'],
  [/\bcrowds?\b/, 'delay, fill'],
  [/\bwaves?\b/, 'batch, round'],
  [/\bmeant\b|\bmet (contact|customer|person)s?\b/, 'match, new contact'],
  [/\b(conversation|message|refusal|redelivery|ledger) step\b/, 'batch'],
  [/\bfolds?\b/, 'refresh the search index'],
  [/\b(tenants?|workspaces?|tpl)\b/, 'company, template'],
]

/** Words that add nothing, or a pronoun where the thing should be named. Matched in texts. */
const CRUTCHES = /\b(nobody|somebody|anybody|everybody|strangers?|besides|in vain|heed(s|ed)?|whoever)\b/i
/** A sentence that has a pronoun as its subject: name the thing. */
const PRONOUN_SUBJECT = /(^|[.!?;] )(who|whoever|what) (?![^.!;]*\?)/i

/** Uses that stay, each with its reason. */
const ACCEPTED: readonly (readonly [file: RegExp, text: RegExp, reason: string])[] = [
  [/./, /allSettled|PromiseSettledResult/, 'the names of ECMAScript'],
  [/^console\//, /onSettled:/, 'an option of TanStack Query'],
  [/./, /worker_threads|threads of (node|the process)|the process's four threads/i, 'threads of the operating system'],
  [/^src\/http\/reference(-page)?\.ts$|^test\/package/, /\bthread\b/, 'a thread of the operating system'],
  [/^examples\/receiver-python\//, /check_same_thread/, 'an argument of the standard library of Python'],
  [/./, /\bhistory: \[\{ threads:/, 'the name of a member in the bodies of Meta'],
]

type Line = { file: string; line: number; text: string }

/** Everything that people write: code, SQL, pages, settings. Not JSON, pictures, the licence and lists of other tools. */
const TEXT =
  /\.(ts|tsx|mjs|js|css|html|sql|md|ya?ml|sh|py|php|conf|service)$|^bin\/|^\.ci\/|(^|\/)(Caddyfile|Dockerfile|\.dockerignore)$/

const files = execFileSync('git', ['ls-files', '-co', '--exclude-standard'], { cwd: ROOT, encoding: 'utf8' })
  .split('\n')
  .filter((file) => TEXT.test(file) && !EXCLUDED.test(file))

const read = (file: string): string => readFileSync(join(ROOT, file), 'utf8')

const linesOf = (file: string): Line[] =>
  read(file)
    .split('\n')
    .map((text, index) => ({ file, line: index + 1, text }))

/** `settleSends` and `settle_sends` as `settle sends`. */
const toWords = (text: string): string =>
  text
    .replaceAll(/([a-z0-9])([A-Z])/g, '$1 $2')
    .replaceAll('_', ' ')
    .toLowerCase()

const isAccepted = ({ file, text }: Line): boolean =>
  ACCEPTED.some(([inFile, inText]) => inFile.test(file) && inText.test(text))

const show = ({ file, line, text }: Line): string => `${file}:${line}: ${text.trim().slice(0, 200)}`

/** The texts of a file: comments, paragraphs, titles of tests and strings that are sentences, each joined to one line. */
const textsOf = (file: string): Line[] =>
  file.endsWith('.md') ? paragraphsOf(file) : [...commentsOf(file), ...stringsOf(file)]

function paragraphsOf(file: string): Line[] {
  const found: Line[] = []
  let isCode = false
  let isOpen = false
  for (const { line, text } of linesOf(file)) {
    if (text.startsWith('```')) isCode = !isCode
    // A heading is no sentence.
    const isHeading = text.startsWith('#')
    const words = text.replace(/^[\s>#*-]+/, '')
    const isText = !isCode && !isHeading && !text.startsWith('```') && words !== ''
    const last = found.at(-1)
    if (!isText) isOpen = false
    else if (text.startsWith('|')) found.push(...text.split('|').map((cell) => ({ file, line, text: cell.trim() })))
    else if (isOpen && last !== undefined && !/^\s*([-*#>]|\d+\.)/.test(text)) last.text += ` ${words}`
    else found.push({ file, line, text: words })
    if (isText) isOpen = !text.startsWith('|')
  }
  return found
}

function commentsOf(file: string): Line[] {
  const found: Line[] = []
  const whole = file.endsWith('.sql') ? /^\s*--!? ?(.*)$/ : /^\s*(?:\/\*\*? ?|\* ?(?!\/)|\/\/ ?|# )(.*?)(?:\*\/)?$/
  const trailing = file.endsWith('.sql') ? /\s-- (.*)$/ : /\s\/\/ (.*)$/
  let lastLine = 0
  for (const { line, text } of linesOf(file)) {
    const comment = whole.exec(text)?.[1]
    const last = found.at(-1)
    const begins = /^\s*(\/\*|\*\s*@|\*\s*$)/.test(text)
    if (comment !== undefined) {
      if (last !== undefined && lastLine === line - 1 && !begins) last.text += ` ${comment.trim()}`
      else found.push({ file, line, text: comment.trim() })
      lastLine = line
    } else {
      const end = trailing.exec(text)?.[1]
      if (end !== undefined) found.push({ file, line, text: end.trim() })
    }
  }
  return found
}

/** Strings that are sentences: they begin with a capital, or are the title of a test, and have several words. */
function stringsOf(file: string): Line[] {
  const text = read(file)
  const strings = /(['`])((?:(?!\1)[^\\\n]|\\.)*\s(?:(?!\1)[^\\\n]|\\.)*)\1/g
  return [...text.matchAll(strings)]
    .filter((match) => isSentence(text.slice(Math.max(0, match.index - 40), match.index), match[2] ?? '', file))
    .map((match) => ({ file, line: text.slice(0, match.index).split('\n').length, text: match[2] ?? '' }))
}

function isSentence(before: string, text: string, file: string): boolean {
  if (/\b(test|it|describe)(\.\w+)*(\([^\n]*\))?\(\s*$/.test(before)) return true
  return /^(src|client\/src|console|sandbox)\//.test(file) && !file.includes('.test.') && /^[A-Z][a-z]* \w+/.test(text)
}

/** Every description and summary of the API reference. */
function describedTexts(value: unknown, path: string): Line[] {
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([name, member]) =>
    typeof member === 'string' && /^(description|summary)$/.test(name)
      ? [{ file: path, line: 0, text: member }]
      : describedTexts(member, `${path}/${name}`),
  )
}

const texts = [...files.flatMap(textsOf), ...describedTexts(JSON.parse(read('openapi.json')), 'openapi.json')]

test('there is something to look at', () => {
  expect(files.length).toBeGreaterThan(500)
  expect(texts.length).toBeGreaterThan(3_000)
})

test.each(PRIVATE_WORDS)('%s is not used: the standard words are %s', (word) => {
  const found = files.flatMap(linesOf).filter((line) => word.test(toWords(line.text)) && !isAccepted(line))
  expect(found.map(show)).toEqual([])
})

test('texts name the thing instead of nobody, somebody, strangers and the like', () => {
  expect(texts.filter((line) => CRUTCHES.test(line.text) && !isAccepted(line)).map(show)).toEqual([])
})

test('no sentence has who or what as its subject', () => {
  expect(texts.filter((line) => PRONOUN_SUBJECT.test(line.text) && !isAccepted(line)).map(show)).toEqual([])
})

describe('the changelog merges by union, which brings removed lines back', () => {
  const lines = read('CHANGELOG.md').split('\n')
  const entries = lines.filter((line) => line.startsWith('- ')).map((line) => line.slice(0, 60))

  test('no entry stands twice', () => {
    expect(entries.filter((entry, index) => entries.indexOf(entry) < index)).toEqual([])
  })

  test('each entry stands under a topic', () => {
    const sections = lines.join('\n').split(/^## /m).slice(1)
    const beforeTopics = sections.map((section) => section.split(/^### /m)[0] ?? '')
    expect(beforeTopics.flatMap((text) => text.split('\n').filter((line) => line.startsWith('- ')))).toEqual([])
  })
})

test('each accepted use exists', () => {
  const lines = files.flatMap(linesOf)
  const unused = ACCEPTED.filter(
    ([inFile, inText]) => !lines.some(({ file, text }) => inFile.test(file) && inText.test(text)),
  )
  expect(unused.map(([, , reason]) => reason)).toEqual([])
})
