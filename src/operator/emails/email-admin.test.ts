import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { Command } from 'commander'
import { afterAll, describe, expect, test } from 'vitest'
import { createTestDatabase } from '../../../test/database.ts'
import { createOperatorApi, operatorDeps } from '../../../test/operator-deps.ts'
import { createTestFolder } from '../../../test/temporary-folder.ts'
import { createCompany } from '../../../test/world.ts'
import { operatorCommands } from '../commands/command-line.ts'

const { db } = await createTestDatabase({ mirrors: true })
const deps = operatorDeps(db)
const { call, close } = await createOperatorApi(db, deps)
const companyId = await createCompany(db)
const base = `/companies/${companyId}`
const folder = await createTestFolder()
afterAll(close)

const TEMPLATE = {
  name: 'Order',
  subject: 'Order {{ order }}',
  html: '<p>{{ name }}</p><a href="{{ unsubscribe_url }}">Unsubscribe</a>',
  text: '{{ footer }}',
  category: 'MARKETING',
}

describe('email templates', () => {
  test('are created, read, changed and removed', async () => {
    const { status, body: created } = await call('POST', `${base}/email-templates`, TEMPLATE)
    expect(status).toBe(201)
    expect(created).toEqual({
      ...TEMPLATE,
      id: expect.stringMatching(/^tmpl_/),
      transactionalId: expect.any(Number),
      variables: ['order', 'name', 'footer'],
      createdAt: expect.stringMatching(/Z$/),
    })
    const path = `${base}/email-templates/${created.id}`
    expect((await call('GET', path)).body).toEqual(created)
    expect((await call('GET', `${base}/email-templates`)).body).toEqual([created])
    const changed = await call('PATCH', path, {
      text: null,
      html: '{{ other }}{{ unsubscribe_url }}',
    })
    expect(changed.body).toEqual({
      ...created,
      text: null,
      html: '{{ other }}{{ unsubscribe_url }}',
      variables: ['order', 'other'],
    })
    expect(await call('DELETE', path)).toMatchObject({ status: 200, body: { success: true } })
    for (const method of ['GET', 'DELETE'] as const) {
      expect(await call(method, path)).toMatchObject({ status: 404, body: { message: 'Transactional not found' } })
    }
    expect((await call('PATCH', path, {})).status).toBe(404)
  })

  test.each([
    ['no name', { ...TEMPLATE, name: undefined }, 400],
    ['a blank name', { ...TEMPLATE, name: ' ' }, 422],
    ['an unknown category', { ...TEMPLATE, category: 'SPAM' }, 422],
    ['a broken part', { ...TEMPLATE, html: '{% if %}' }, 422],
    ['a variable that no value can fill', { ...TEMPLATE, html: '{{ user.name }}' }, 422],
    ['MARKETING without an unsubscribe link', { ...TEMPLATE, html: 'x' }, 422],
    ['a subject of two lines', { ...TEMPLATE, subject: 'a\r\nBcc: x@y.example' }, 422],
    ['a part that is too long', { ...TEMPLATE, html: 'x'.repeat(500_001) }, 422],
  ])('with %s are refused', async (_name, body, status) => {
    expect((await call('POST', `${base}/email-templates`, body)).status).toBe(status)
  })

  test('changed by many at once keep every change', async () => {
    const { body: created } = await call('POST', `${base}/email-templates`, TEMPLATE)
    const path = `${base}/email-templates/${created.id}`
    for (let round = 0; round < 10; round += 1) {
      const changes = {
        name: `N${round}`,
        subject: `S${round}`,
        html: `H${round} {{ unsubscribe_url }}`,
        text: `T${round}`,
      }
      await Promise.all(Object.entries(changes).map(([part, value]) => call('PATCH', path, { [part]: value })))
      expect((await call('GET', path)).body).toMatchObject(changes)
    }
  })

  test('of another company are not found', async () => {
    const { body } = await call('POST', `${base}/email-templates`, TEMPLATE)
    const other = await createCompany(db)
    expect((await call('GET', `/companies/${other}/email-templates/${body.id}`)).status).toBe(404)
    expect((await call('PATCH', `/companies/${other}/email-templates/${body.id}`, { name: 'x' })).status).toBe(404)
    expect((await call('GET', '/companies/0/email-templates')).body).toEqual({ message: 'Company not found' })
  })
})

describe('email settings', () => {
  test('are replaced as a whole, and never show the credential', async () => {
    const path = `${base}/email-settings`
    expect((await call('GET', path)).body).toEqual({ from: null, fromName: null, smtpUrl: null })
    const full = { from: 'shop@example.org', fromName: 'Shop', smtpUrl: 'smtps://user:p4ss@mail.example:465?pool=true' }
    const { status, body } = await call('PUT', path, full)
    expect([status, body]).toEqual([
      200,
      { from: 'shop@example.org', fromName: 'Shop', smtpUrl: 'smtps://mail.example:465' },
    ])
    const [row] = await db`select smtp_url from email_settings where company_id = ${companyId}`
    expect(row?.smtpUrl).not.toContain('p4ss')
    expect((await call('PUT', path, { from: 'shop@example.org' })).body).toEqual({
      from: 'shop@example.org',
      fromName: null,
      smtpUrl: null,
    })
  })

  test('written back as they are shown keep the login, until host, port or user changes', async () => {
    const id = await createCompany(db)
    const path = `/companies/${id}/email-settings`
    const stored = async () =>
      deps.cipher.decrypt((await db`select smtp_url from email_settings where company_id = ${id}`)[0]!.smtpUrl)
    const put = (smtpUrl: string) => call('PUT', path, { from: 'shop@example.org', smtpUrl })
    const full = 'smtp://user:p4ss%40@mail.example:587?requireTLS=true'

    await put(full)
    const shown = (await call('GET', path)).body
    expect(shown.smtpUrl).toBe('smtp://mail.example:587')
    expect((await call('PUT', path, { ...shown, fromName: 'Other' })).body).toEqual({ ...shown, fromName: 'Other' })
    expect(await stored()).toBe(full)

    await put('smtp://user@mail.example')
    expect(await stored()).toBe('smtp://user:p4ss%40@mail.example?requireTLS=true')
    await put('smtp://user:new@mail.example:587?requireTLS=false')
    expect(await stored()).toBe('smtp://user:new@mail.example:587?requireTLS=false')

    for (const changed of ['smtp://other@mail.example:587', 'smtp://mail.example:25', 'smtp://mail2.example:587']) {
      await put(full)
      await put(changed)
      expect(await stored()).toBe(changed)
    }
  })

  test.each([
    ['no address', {}, 400],
    ['a bad address', { from: 'Shop <shop@example.org>' }, 422],
    ['a name of two lines', { from: 'shop@example.org', fromName: 'a\nb' }, 422],
    ['another kind of server', { from: 'shop@example.org', smtpUrl: 'https://mail.example' }, 422],
    ['no server', { from: 'shop@example.org', smtpUrl: 'smtp://' }, 422],
  ])('with %s are refused', async (_name, body, status) => {
    expect((await call('PUT', `${base}/email-settings`, body)).status).toBe(status)
  })
})

describe('on the command line', () => {
  async function parley(args: string[], stdin = '') {
    let out = ''
    const program = new Command('parley').exitOverride().configureOutput({
      writeOut: (text) => {
        out += text
      },
      writeErr: (text) => {
        out += text
      },
    })
    operatorCommands(program, async () => ({ ...deps, close: async () => {} }), { stdin: Readable.from([stdin]) })
    await program.parseAsync([...args, '--json'], { from: 'user' }).catch(() => {})
    return out.startsWith('{') || out.startsWith('[') ? JSON.parse(out) : out
  }

  test('templates come from files', async () => {
    const file = join(folder, 'mail.html')
    await writeFile(file, '<p>{{ name }}</p>')
    const company = String(await createCompany(db))
    const created = await parley(
      ['email-template', 'create', company, '--name', 'N', '--subject', 'S', '--html-file', file, '--text-file', '-'],
      'Hi {{ name }}',
    )
    expect(created).toMatchObject({ name: 'N', html: '<p>{{ name }}</p>', text: 'Hi {{ name }}', variables: ['name'] })
    expect(await parley(['email-template', 'update', company, created.id, '--text-file', 'none'])).toMatchObject({
      text: null,
    })
    expect(await parley(['email-template', 'list', company])).toMatchObject([{ id: created.id }])
    expect(await parley(['email-template', 'show', company, created.id])).toMatchObject({ subject: 'S' })
    expect(await parley(['email-template', 'remove', company, created.id])).toEqual({ success: true })
    expect(
      await parley([
        'email-template',
        'create',
        company,
        '--name',
        'N',
        '--subject',
        'S',
        '--html-file',
        join(folder, 'none'),
      ]),
    ).toContain('cannot be read')
  })

  test('settings take the credential from standard input', async () => {
    const company = String(await createCompany(db))
    const set = await parley(
      ['email-settings', 'set', company, '--from', 'shop@example.org', '--smtp-url', '-'],
      'smtp://u:p@mail.example:587\n',
    )
    expect(set).toEqual({ from: 'shop@example.org', fromName: null, smtpUrl: 'smtp://mail.example:587' })
    expect(await parley(['email-settings', 'show', company])).toEqual(set)
  })
})
