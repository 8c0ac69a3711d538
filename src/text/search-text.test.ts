import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { createTestCompany } from '../../test/api.ts'
import { createTestDatabase } from '../../test/database.ts'
import { folded, plain } from './search-text.ts'

test.each([
  ['Marta Rossi', 'marta rossi'],
  ['  José\u00a0 MUÑOZ ', 'jose munoz'],
  ['Jose\u0301', 'jose'],
  ['𝓜𝓪𝓻𝓽𝓪 Ｒｏｓｓｉ', 'marta rossi'],
  ['Łukasz', plain('łukasz')],
  ['АННА', plain('анна')],
  ['Σοφός', plain('σοφοσ')],
  ['김민준', plain('김민준')],
  ['محمد', plain('محمد')],
])('%j is searched for as %j', (name, text) => expect(folded(name)).toBe(text))

test('the migration writes the names of conversations as the search compares them', async () => {
  const { db } = await createTestDatabase()
  const companyId = await createTestCompany(db)
  const names = [
    'Marta Rossi',
    ' José\u00a0 MUÑOZ ',
    '𝓜𝓪𝓻𝓽𝓪',
    'Łukasz ŻÓŁĆ',
    'АННА Йонова',
    'ΣΟΦΌΣ',
    'Արամ',
    '김민준',
    'محمد',
    '👩‍👩‍👧 X',
  ]
  const migration = readFileSync(new URL('../../migrations/0021_profile_search.sql', import.meta.url), 'utf8')
  const statement = /^with named.*?;$/ms.exec(migration)![0]
  const stored = await db.begin(async (tx) => {
    await tx`set local session_replication_role = replica`
    await tx`
      insert into conversations (company_id, sender_id, customer_id, profile_name)
      select ${companyId}, 1, place, name from unnest(${names}::text[]) with ordinality as input (name, place)
    `
    await tx.unsafe(statement)
    return tx<{ profileSearch: string }[]>`
      select profile_search from conversations where company_id = ${companyId} order by customer_id
    `
  })
  expect(stored.map(({ profileSearch }) => profileSearch)).toEqual(names.map(folded))
})
