import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Command } from 'commander'
import { expect, test } from 'vitest'
import { operatorCommands } from '../../src/operator/commands/command-line.ts'
import { readConfig } from '../../src/platform/settings/config.ts'
import { openOperator } from '../../src/wiring/operator-deps.ts'
import { createTestDatabase } from '../database.ts'
import { dataFolder, runParley } from '../parley-process.ts'

test('parley contacts import works a file off and says what came of it', async () => {
  const { url, db } = await createTestDatabase()
  const dataDir = dataFolder()
  const env = {
    DATABASE_URL: url,
    DATA_DIR: dataDir,
    ENCRYPTION_KEY: Buffer.alloc(32).toString('base64'),
    ADMIN_TOKEN: 'x'.repeat(32),
  }
  await db`insert into companies (id, name) overriding system value values (77, 'Acme')`
  const file = join(dataDir, 'people.csv')
  await writeFile(file, 'email,first_name\na@example.com,Ada\nnobody,Bob\n')
  const command = await runParley(env, { args: ['contacts', 'import', '77', file, '--json'] })
  expect([await command.exited, command.output()]).toEqual([0, expect.any(String)])
  expect(JSON.parse(command.output())).toMatchObject({ status: 'completed', rows: 2, created: 1, refused: 1 })
  expect(await db`select first_name from contacts where company_id = 77`).toEqual([{ firstName: 'Ada' }])
  const german = join(dataDir, 'kunden.csv')
  await writeFile(
    german,
    Buffer.from('email;first_name;marketing_consent.email\nzoe@example.com;Zo\xeb;ja\n', 'latin1'),
  )
  const options = ['--delimiter', 'semicolon', '--encoding', 'windows-1252', '--consent-yes', 'ja,oui']
  const styled = await runParley(env, { args: ['contacts', 'import', '77', german, ...options, '--json'] })
  expect([await styled.exited, styled.output()]).toEqual([0, expect.any(String)])
  expect(JSON.parse(styled.output())).toMatchObject({ delimiter: ';', encoding: 'windows-1252', created: 1 })
  expect(
    await db`select first_name, email_consent from contacts where company_id = 77 and email = 'zoe@example.com'`,
  ).toEqual([{ firstName: 'Zoë', emailConsent: true }])
  const unknown = await runParley(env, { args: ['contacts', 'import', '77', german, '--profile', 'excel'] })
  expect([await unknown.exited, unknown.output()]).toEqual([1, expect.stringContaining('profile')])
  let bar = ''
  const program = new Command('parley').configureOutput({
    writeOut: () => {},
    writeErr: (text) => {
      bar += text
    },
  })
  operatorCommands(program, () => openOperator(readConfig(env)), { isTerminal: true })
  await program.parseAsync(['contacts', 'import', '77', file], { from: 'user' })
  expect(bar).toMatch(/^\r[█░]{30} {2,3}[0-9]+% {2}[0-9]+ of 2 rows, [01] refused/)
  expect(bar.endsWith(`\r${'█'.repeat(30)} 100%  2 of 2 rows, 1 refused\n`)).toBe(true)
  const wrong = await runParley(env, { args: ['contacts', 'import', '77', join(dataDir, 'nothing.csv')] })
  expect([await wrong.exited, wrong.output()]).toEqual([1, expect.stringContaining('error: ENOENT')])
}, 300_000)
