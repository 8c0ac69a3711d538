import { expect, test } from 'vitest'
import { fillTemplate } from './template-text.ts'

const WHERE_EXP = '{% assign a = (1..2000000) | where_exp: "i", "i > 5" %}'

test('a template that was stored before it would be refused is refused when it is filled', async () => {
  const filling = fillTemplate(1, { subject: 'Hello', html: WHERE_EXP, text: null }, {})
  await expect(filling).rejects.toMatchObject({ status: 422, body: { error: { code: 'validation_error' } } })
})

test('values that make a mail too long are refused by name', async () => {
  const html = '{{ a }}{{ a }}{{ a }}'
  await expect(fillTemplate(1, { subject: 's', html, text: null }, { a: 'x'.repeat(900_000) })).rejects.toMatchObject({
    status: 422,
    body: { error: { details: { fields: [{ path: 'customFields' }] } } },
  })
})
