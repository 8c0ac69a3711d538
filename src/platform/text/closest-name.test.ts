import { describe, expect, test } from 'vitest'
import { closestName, unknownName } from './closest-name.ts'

const KNOWN = ['sendAt', 'sender', 'erase', 'voice', 'channelIds', 'expiresAt', 'secret', 'parameter_name']

describe('a mistyped name', () => {
  test.each([
    ['sendat', 'sendAt'],
    ['send_at', 'sendAt'],
    ['Sender', 'sender'],
    ['earse', 'erase'],
    ['voise', 'voice'],
    ['voic', 'voice'],
    ['vvoice', 'voice'],
    ['channel_ids', 'channelIds'],
    ['channel-ids', 'channelIds'],
    ['expires_at', 'expiresAt'],
    ['Secret', 'secret'],
    ['parameterName', 'parameter_name'],
  ])('%s stands for %s', (name, meant) => {
    expect(closestName(name, KNOWN)).toBe(meant)
    expect(unknownName(name, KNOWN)).toBe(`is not known here: did you mean ${meant}?`)
  })

  test.each(['colour', 'sendLater', '', 'ersea'])('%s stands for none', (name) => {
    expect(unknownName(name, KNOWN)).toBe('is not known here')
  })

  test('prefers another case to another letter', () => {
    expect(closestName('Sender', ['sended', 'sender'])).toBe('sender')
  })
})
