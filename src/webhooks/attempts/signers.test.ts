import { expect, it } from 'vitest'
import { signatureOf } from '../../../test/webhook-fixture.ts'
import { createSigners } from './delivery-headers.ts'

const body = Buffer.from('{}')

function createCounted() {
  const opened: string[] = []
  const signers = createSigners({
    decrypt: (sealed) => {
      opened.push(sealed)
      if (sealed === 'altered') throw new Error('The sealed secret was altered')
      return sealed.toUpperCase()
    },
  })
  return { opened, signers }
}

it('a secret is opened once, and each sealed text signs with its own', () => {
  const { opened, signers } = createCounted()
  for (const sealed of ['one', 'two', 'one', 'two'])
    expect(signers(sealed).sign(body)).toBe(signatureOf(sealed.toUpperCase(), body))
  expect(opened).toEqual(['one', 'two'])
})

it('a thousand are kept, the oldest goes', () => {
  const { opened, signers } = createCounted()
  for (let n = 0; n < 1_001; n += 1) signers(`secret ${n}`)
  signers('secret 1')
  expect(opened).toHaveLength(1_001)
  signers('secret 0')
  expect(opened).toHaveLength(1_002)
})

it('one that cannot be opened throws every time', () => {
  const { opened, signers } = createCounted()
  for (const _ of [1, 2]) expect(() => signers('altered')).toThrow('altered')
  expect(opened).toHaveLength(2)
})
