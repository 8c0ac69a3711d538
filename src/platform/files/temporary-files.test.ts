import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, readdir, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { createTestFolder } from '../../../test/temporary-folder.ts'
import { openTemporaryFiles } from './temporary-files.ts'

const filesIn = async (place: string): Promise<string[]> => {
  const found = await readdir(place, { recursive: true, withFileTypes: true })
  return found.filter((one) => one.isFile()).map((one) => join(one.parentPath, one.name))
}

/** A process that writes into a temporary file for ever. */
async function startWriter(place: string) {
  const program = `
    import { writeFile } from 'node:fs/promises'
    const { openTemporaryFiles } = await import(process.argv[1])
    const files = await openTemporaryFiles(process.argv[2])
    setInterval(() => {}, 1_000)
    await files.use(async (path) => {
      await writeFile(path, 'half')
      process.stdout.write('writing')
      await new Promise(() => {})
    })
  `
  const source = new URL('temporary-files.ts', import.meta.url).href
  const child = spawn(process.execPath, ['--input-type=module', '--eval', program, source, place])
  await once(child.stdout, 'data')
  return async () => {
    child.kill('SIGKILL')
    await once(child, 'exit')
  }
}

test('deletes a file when the work on it ends, however it ends', async () => {
  const place = await createTestFolder()
  const files = await openTemporaryFiles(place)
  const size = await files.use(async (path) => {
    await writeFile(path, 'all')
    return (await filesIn(place)).length
  })
  expect(size).toBe(1)
  const torn = files.use(async (path) => {
    await writeFile(path, 'half')
    throw new Error('torn')
  })
  await expect(torn).rejects.toThrow('torn')
  await files.use(async () => 'no file')
  expect(await filesIn(place)).toEqual([])
})

test('deletes the files of a killed process at the next start, and keeps those of a living one', async () => {
  const place = await createTestFolder()
  const [killFirst, killSecond] = [await startWriter(place), await startWriter(place)]
  await openTemporaryFiles(place)
  expect(await filesIn(place)).toHaveLength(2)
  await killFirst()
  await openTemporaryFiles(place)
  expect(await filesIn(place)).toHaveLength(1)
  await killSecond()
  await openTemporaryFiles(place)
  expect(await filesIn(place)).toEqual([])
})

test('deletes files of other machines, and those that no folder holds, once nothing touches them', async () => {
  const place = await createTestFolder()
  const [elsewhere, quiet] = ['0000000000000000-1-7-aaaaaaaaaaaa', '0000000000000000-1-8-bbbbbbbbbbbb']
  for (const name of [elsewhere, quiet]) {
    await mkdir(join(place, name))
    await writeFile(join(place, name, 'body'), 'half')
  }
  await writeFile(join(place, 'plain'), 'half')
  await utimes(join(place, quiet), 1_000, 1_000)
  await utimes(join(place, 'plain'), 1_000, 1_000)
  await openTemporaryFiles(place)
  expect(await filesIn(place)).toEqual([join(place, elsewhere, 'body')])
})
