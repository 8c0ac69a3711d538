import { existsSync, globSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const read = (file: string): string => readFileSync(join(ROOT, file), 'utf8')

const pages = globSync('{*.md,docs/**/*.md,bench/*.md,client/*.md,examples/**/*.md,sandbox/*.md,deploy/*.md}', {
  cwd: ROOT,
  exclude: ['examples/**/node_modules'],
})
const decisions = pages.filter((page) => /^docs\/decisions\/\d/.test(page))

/** The text of a page without its blocks of code. */
const proseOf = (page: string): string => read(page).replaceAll(/^ *```[\s\S]*?^ *```/gm, '')

test('there is something to look at', () => {
  expect(pages.length).toBeGreaterThan(30)
  expect(decisions.length).toBeGreaterThan(10)
})

test.each(pages)('each link of %s leads to a file', (page) => {
  const links = [...proseOf(page).matchAll(/\]\(([^)#\s]+)[^)]*\)/g)].map(([, link = '']) => link)
  const local = links.filter((link) => !/^[a-z]+:/.test(link))
  expect(local.filter((link) => !existsSync(join(ROOT, dirname(page), link)))).toEqual([])
})

test.each(pages)('each heading that a link of %s names exists', (page) => {
  const links = [...proseOf(page).matchAll(/\]\(([^)#\s]*)#([^)\s]+)\)/g)]
  const missing = links.filter(([, link = '', heading]) => {
    if (/^[a-z]+:/.test(link)) return false
    const target = link === '' ? page : join(dirname(page), link)
    return !headingsOf(target).includes(heading ?? '')
  })
  expect(missing.map(([link]) => link)).toEqual([])
})

/** Every file of the repository that a page may name. */
const files = globSync(
  '{*,{bench,bin,client,console,deploy,docs,examples,migrations,packages,sandbox,scripts,src,test}/**/*}',
  {
    cwd: ROOT,
    exclude: ['**/node_modules'],
  },
)

test.each(pages)('each file of the repository that %s names exists', (page) => {
  const names = [...proseOf(page).matchAll(/`([\w./-]+\.(?:ts|tsx|sql|mjs|md)|src\/[\w./-]+)`/g)].map(
    ([, name = '']) => name,
  )
  // A page may leave out the beginning of a path.
  const exists = (name: string) => files.some((file) => `/${file}/`.includes(`/${name.replace(/\/$/, '')}/`))
  expect(names.filter((name) => !name.includes('X.Y.Z') && !exists(name))).toEqual([])
})

test.each(decisions)('%s has a number, a status, a date, and its sections in order', (page) => {
  const text = read(page)
  const number = Number(/\/(\d{4})-/.exec(page)?.[1])
  expect(text).toMatch(
    new RegExp(`^# ${number}\\. \\S.*\\n\\nStatus: (accepted|superseded by).*\\. Date: \\d{4}-\\d\\d-\\d\\d\\.\\n`),
  )
  const sections = [...text.matchAll(/^## (.*)$/gm)].map(([, title]) => title)
  expect(sections).toEqual(['Context', 'Decision', 'Consequences'])
})

/** The names under which a page's headings are linked. */
const headingsOf = (page: string): string[] =>
  [...proseOf(page).matchAll(/^#+ (.*)$/gm)].map(([, title = '']) =>
    title
      .toLowerCase()
      .replaceAll(/[^\w\s-]/g, '')
      .replaceAll(' ', '-'),
  )

describe('the changelog merges by union, which brings removed lines back', () => {
  const text = read('CHANGELOG.md')
  const entriesOf = (part: string): string[] => part.split('\n').filter((line) => line.startsWith('- '))

  test('no entry stands twice', () => {
    const entries = entriesOf(text).map((line) => line.slice(0, 60))
    expect(entries.filter((entry, index) => entries.indexOf(entry) < index)).toEqual([])
  })

  test('each entry stands under a topic', () => {
    const sections = text.split(/^## /m).slice(1)
    expect(sections.flatMap((section) => entriesOf(section.split(/^### /m)[0] ?? ''))).toEqual([])
  })
})
