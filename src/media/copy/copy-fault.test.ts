import { createHash } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { sampleOf } from '../../../sandbox/world/sample-media.ts'
import { createTestFolder } from '../../../test/temporary-folder.ts'
import { readFileFacts } from '../uploads/file-type.ts'
import { type Announced, copyFault } from './copy-media.ts'

const folder = await createTestFolder()
const PAGE = Buffer.from('<!DOCTYPE html>\n<html><body>Sign in</body></html>')
const REFUSAL = Buffer.from('{"error":{"message":"(#100) Unsupported get request"}}')
const NOTHING = Buffer.alloc(0)
const UNKNOWN = Buffer.from([0, 1, 2, 3, 0xff, 0xfe, 0, 9])
const png = sampleOf('image/png').bytes
const ogg = sampleOf('audio/ogg').bytes
const mp4 = sampleOf('video/mp4').bytes
const pdf = sampleOf('application/pdf').bytes

let files = 0
async function faultOf(announced: Partial<Announced>, bytes: Buffer) {
  const path = join(folder, String(files++))
  await writeFile(path, bytes)
  const sha256 = createHash('sha256').update(bytes).digest('hex')
  const facts = await readFileFacts(path, bytes.length)
  return copyFault({ mimeType: null, sizeBytes: null, sha256: null, ...announced }, { ...facts, sha256 })
}

describe('without a digest', () => {
  test.each<[string | null, string, Buffer]>([
    ['image/jpeg', 'a picture of another kind', png],
    ['image/png', 'its own kind', png],
    ['image/webp', 'a sticker', sampleOf('image/webp').bytes],
    ['audio/ogg; codecs=opus', 'a voice note', ogg],
    ['audio/mp4', 'sound in a container of films', mp4],
    ['video/mp4', 'a film', mp4],
    ['video/3gpp', 'a stream without a mark', UNKNOWN],
    ['application/pdf', 'its own kind', pdf],
    ['application/msword', 'bytes that nothing marks', UNKNOWN],
    ['application/vnd.acme', 'text', REFUSAL],
    ['text/plain', 'text', Buffer.from('Hello')],
    ['text/html', 'a page', PAGE],
    ['application/octet-stream', 'anything', UNKNOWN],
    [null, 'anything', UNKNOWN],
  ])('%s can be %s', async (mimeType, _, bytes) => {
    expect(await faultOf({ mimeType }, bytes)).toBeUndefined()
  })

  test.each<[string | null, string, Buffer]>([
    ['image/jpeg', 'a page', PAGE],
    ['image/jpeg', 'a refusal', REFUSAL],
    ['image/jpeg', 'nothing', NOTHING],
    ['image/jpeg', 'unknown bytes', UNKNOWN],
    ['image/jpeg', 'a document', pdf],
    ['image/webp', 'a page', PAGE],
    ['audio/ogg; codecs=opus', 'a page', PAGE],
    ['audio/ogg; codecs=opus', 'a picture', png],
    ['video/mp4', 'a refusal', REFUSAL],
    ['video/mp4', 'nothing', NOTHING],
    ['application/pdf', 'a page', PAGE],
    ['application/pdf', 'a refusal', REFUSAL],
    ['application/vnd.openxmlformats-officedocument.wordprocessingml.document', 'a page', PAGE],
    ['application/vnd.acme', 'a page', PAGE],
    ['text/plain', 'a page', PAGE],
    ['text/plain', 'nothing', NOTHING],
    [null, 'a page', PAGE],
    [null, 'nothing', NOTHING],
  ])('%s is not %s', async (mimeType, _, bytes) => {
    expect(await faultOf({ mimeType }, bytes)).toEqual(expect.any(String))
  })

  test('the announced size counts', async () => {
    expect(await faultOf({ mimeType: 'image/png', sizeBytes: png.length }, png)).toBeUndefined()
    expect(await faultOf({ mimeType: 'image/png', sizeBytes: png.length + 1 }, png)).toMatch(/bytes came instead of/)
  })
})

test('a digest alone decides', async () => {
  const sha256 = createHash('sha256').update(PAGE).digest('hex')
  expect(await faultOf({ mimeType: 'image/png', sha256 }, PAGE)).toBeUndefined()
  expect(await faultOf({ mimeType: 'image/png', sha256 }, png)).toMatch(/digest/)
})
