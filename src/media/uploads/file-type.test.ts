import { describe, expect, test } from 'vitest'
import { decideFile, MAX_FILE_BYTES, MAX_STILL_STICKER_BYTES } from './file-type.ts'

const file = { detected: undefined, isText: false, isPage: false, isAnimated: false, sizeBytes: 10 } as const

describe('the type of a file that can be sent', () => {
  test.each([
    ['image/jpeg', 'image/jpeg', 'image'],
    ['image/png', 'image/png', 'image'],
    ['image/webp', 'image/webp', 'sticker'],
    ['video/mp4', 'video/mp4', 'video'],
    ['video/3gpp', 'video/3gpp', 'video'],
    ['audio/x-m4a', 'audio/mp4', 'audio'],
    ['audio/mpeg', 'audio/mpeg', 'audio'],
    ['audio/ogg; codecs=opus', 'audio/ogg; codecs=opus', 'audio'],
    ['application/pdf', 'application/pdf', 'document'],
  ])('%s is %s, of the kind %s', (detected, mimeType, kind) => {
    expect(decideFile({ ...file, detected }, null)).toEqual({ mimeType, kind })
  })

  test('text in UTF-8 that names no type is plain text', () => {
    expect(decideFile({ ...file, isText: true }, null)).toEqual({ mimeType: 'text/plain', kind: 'document' })
  })

  test.each([
    ['a.doc', 'application/msword'],
    ['a.XLS', 'application/vnd.ms-excel'],
    ['a.b.ppt', 'application/vnd.ms-powerpoint'],
  ])('the name %s says which file of the older Office it is', (name, mimeType) => {
    expect(decideFile({ ...file, detected: 'application/x-cfb' }, name)).toMatchObject({ mimeType })
  })
})

describe('a file that cannot be sent', () => {
  test.each([
    [{ ...file, sizeBytes: 0 }, 'is empty'],
    [{ ...file, detected: 'application/x-cfb' }, 'give a filename that ends with .doc, .xls or .ppt'],
    [{ ...file, detected: 'image/gif' }, 'is image/gif, which WhatsApp does not take'],
    [{ ...file, detected: 'audio/ogg' }, 'Ogg with Opus'],
    [file, 'is of an unknown type'],
  ])('%j %s', (facts, fault) => {
    expect(decideFile(facts, null)).toEqual({ fault: expect.stringContaining(fault) })
  })

  test.each([
    ['image/png', false, MAX_FILE_BYTES.image, 'image'],
    ['video/mp4', false, MAX_FILE_BYTES.video, 'video'],
    ['audio/aac', false, MAX_FILE_BYTES.audio, 'audio'],
    ['application/pdf', false, MAX_FILE_BYTES.document, 'document'],
    ['image/webp', false, MAX_STILL_STICKER_BYTES, 'a sticker that does not move'],
    ['image/webp', true, MAX_FILE_BYTES.sticker, 'an animated sticker'],
  ])('%s (animated: %s) of more than %i bytes', (detected, isAnimated, limit, name) => {
    const facts = { ...file, detected, isAnimated }
    expect(decideFile({ ...facts, sizeBytes: limit }, null)).not.toHaveProperty('fault')
    const fault = `has ${limit + 1} bytes; the limit for ${name} (${detected}) is ${limit}`
    expect(decideFile({ ...facts, sizeBytes: limit + 1 }, null)).toEqual({ fault })
  })
})
