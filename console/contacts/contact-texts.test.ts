import { expect, test } from 'vitest'
import openapi from '../../openapi.json' with { type: 'json' }
import { CONTACT_TEXTS } from '../generated/lists.ts'

test('offers no text for editing that a write takes only as it was read', () => {
  const members = Object.entries(openapi.components.schemas.ContactWrite.properties)
  const asRead = members.filter(([, member]) => 'x-as-read' in member).map(([name]) => name)
  expect(asRead).toContain('created_at')
  expect(CONTACT_TEXTS.filter(({ body }) => asRead.includes(body))).toEqual([])
  expect(CONTACT_TEXTS.map(({ name }) => name)).toContain('external_id')
})
