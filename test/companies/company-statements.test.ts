import { globSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'

const LIST = 'docs/decisions/0013-rules-in-typescript.md'

/** The tables of companies: their rows begin with the company. */
const TABLES = [
  ...readFileSync('schema.sql', 'utf8').matchAll(/create table (\w+) \(\n {2}company_id bigint not null/g),
].map(([, name]) => name)
const USES_TABLE = new RegExp(`\\b(from|join|into|update|using)\\s+(${TABLES.join('|')})\\b`)
const NAMES_COMPANY =
  /(\bcompany_id\b[^`$]*|find_customer\(|select (distinct )?(on \([^)]*\) )?|values \(\s*)\$\{[^{}`]*company/i
const IS_SQL = /\b(tx|db|pool)(<[^`]*?>)?`|\bdeleteSelected\(/

type Declaration = { name: string; isExported: boolean; text: string }

/** The top-level functions and constants of a file. */
function declarationsOf(source: string): Declaration[] {
  const starts = [...source.matchAll(/^(export )?(?:async )?(?:function|const) (\w+)/gm)]
  return starts.map(({ index, 1: exported, 2: name = '' }, place) => ({
    name,
    isExported: exported !== undefined,
    text: source.slice(index, starts[place + 1]?.index ?? source.length),
  }))
}

/** A declaration with the parts of its statements that other declarations of the file hold. */
function wholeText({ name, text }: Declaration, all: readonly Declaration[], seen = new Set([name])): string {
  const parts = all.filter(
    (one) => !one.isExported && !seen.has(one.name) && new RegExp(`\\b${one.name}\\b`).test(text),
  )
  for (const part of parts) seen.add(part.name)
  return [text, ...parts.map((part) => wholeText(part, all, seen))].join('\n')
}

/** Whether an exported function has statements on the rows of companies, and none of its values is a company. */
function isOverCompanies(source: string): boolean {
  const all = declarationsOf(source)
  return all
    .filter(({ isExported }) => isExported)
    .map((one) => wholeText(one, all))
    .some((text) => IS_SQL.test(text) && USES_TABLE.test(text) && !NAMES_COMPANY.test(text))
}

/** A function of the database whose parameters name no company. */
const isFunctionOverCompanies = (text: string): boolean => USES_TABLE.test(text) && !/\bcompany bigint[,)]/.test(text)

test('the tables of companies are found in the schema', () => {
  expect(TABLES).toEqual(expect.arrayContaining(['contacts', 'messages', 'consents', 'deliveries']))
})

test('a statement that takes its company from a row is recognised, also in parts', () => {
  const part = 'const ofKeys = (db: Db) => db`select from contacts`\n'
  expect(isOverCompanies(`${part}export const read = (db: Db) => db\`select from (\${ofKeys(db)})\``)).toBe(true)
  const ofOne = 'export const read = (db: Db) => db`select from contacts where company_id = $' + '{companyId}`'
  expect(isOverCompanies(ofOne)).toBe(false)
})

test('every file whose statements name no one company by equality is listed with the reason', () => {
  const files = globSync('src/**/*.ts').filter((file) => !file.endsWith('.test.ts'))
  const functions = globSync('src/**/*.sql')
  const found = [
    ...files.filter((file) => isOverCompanies(readFileSync(file, 'utf8'))),
    ...functions.filter((file) => isFunctionOverCompanies(readFileSync(file, 'utf8'))),
  ].sort()
  const [, section = ''] = readFileSync(LIST, 'utf8').split('### Statements over several companies\n')
  const [table = ''] = section.split('\n## ')
  const listed = [...table.matchAll(/`(src\/[\w/-]+\.(?:ts|sql))`/g)].map(([, file]) => file).sort()
  expect(listed).toEqual(found)
})
