import { expect, test } from 'vitest'
import { diskFull, takesNoFiles, unusableFolder } from './writable-folder.ts'

const failure = (code: string) => Object.assign(new Error(`${code}: the text of the system`), { code })
const REMEDY = 'Set DATA_DIR to a folder that you may write, or change its owner'

test.each([
  ['ENOSPC', 'The disk of the data folder /data is full. Free some space, or set DATA_DIR to a folder on another disk'],
  ['EDQUOT', 'The disk of the data folder /data is full. Free some space, or set DATA_DIR to a folder on another disk'],
  ['EROFS', `The data folder /data can't be used: its disk is read-only. ${REMEDY}`],
  ['EACCES', `The data folder /data can't be used: this user may not write there. ${REMEDY}`],
  ['ENOTDIR', `The data folder /data can't be used: it is not a folder. ${REMEDY}`],
  ['EIO', `The data folder /data can't be used: EIO: the text of the system. ${REMEDY}`],
])('a folder whose use failed with %s gets a sentence with the remedy', (code, sentence) => {
  expect(unusableFolder('/data', failure(code)).message).toBe(sentence)
})

test('a full and a read-only disk take no files, also as the error of their folder', () => {
  const codes = ['ENOSPC', 'EDQUOT', 'EROFS', 'EACCES', 'EIO']
  const taking = codes.map((code) => [
    takesNoFiles(failure(code)),
    takesNoFiles(unusableFolder('/data', failure(code))),
  ])
  expect(taking).toEqual([
    [true, true],
    [true, true],
    [true, true],
    [false, false],
    [false, false],
  ])
  expect(takesNoFiles(undefined)).toBe(false)
})

test('what a start needs is named in bytes and megabytes', () => {
  const { message, code } = diskFull('/data', undefined, { freeBytes: 5, neededBytes: 32 * 1024 * 1024 })
  expect(message).toContain('is full: 5 bytes are free and 33554432 bytes (32 MB) are needed. Free some space')
  expect(code).toBe('ENOSPC')
})
