import { chownSync, statSync } from 'node:fs'
import { access, constants, mkdir } from 'node:fs/promises'
import { dirname } from 'node:path'
import { codeOf, messageOf, StartError } from '../start-error.ts'

export class UnusableFolder extends StartError {
  readonly code: string | undefined

  constructor(message: string, cause: unknown, code = codeOf(cause)) {
    super(message, cause)
    this.code = code
  }
}

/** Creates a folder if missing and checks that it is writable. Throws UnusableFolder. */
export async function makeWritableFolder(path: string): Promise<void> {
  try {
    const created = await mkdir(path, { recursive: true, mode: 0o700 })
    if (created !== undefined) giveToFolderOwner(created)
    await access(path, constants.W_OK | constants.X_OK)
  } catch (error) {
    throw unusableFolder(path, (codeOf(error) === 'ENOENT' && (await refusalOfParent(path))) || error)
  }
}

/** On a read-only disk, Node reports ENOENT for a folder; its parent has the real reason. */
async function refusalOfParent(path: string): Promise<unknown> {
  const parent = dirname(path)
  const refusal = await access(parent, constants.W_OK | constants.X_OK).catch((error: unknown) => error)
  return codeOf(refusal) === 'ENOENT' && parent !== path ? refusalOfParent(parent) : refusal
}

export function unusableFolder(path: string, error: unknown): UnusableFolder {
  if (isDiskFull(error)) return diskFull(path, error)
  return new UnusableFolder(
    `The data folder ${path} can't be used: ${causeOf(error)}. Set DATA_DIR to a folder that you may write, or change its owner`,
    error,
  )
}

function causeOf(error: unknown): string {
  switch (codeOf(error)) {
    case 'EEXIST':
    case 'ENOTDIR':
      return 'it is not a folder'
    case 'EROFS':
      return 'its disk is read-only'
    case 'EACCES':
    case 'EPERM':
      return 'this user may not write there'
    default:
      return messageOf(error)
  }
}

export function diskFull(
  path: string,
  cause: unknown,
  space?: { freeBytes: number; neededBytes: number },
): UnusableFolder {
  const amounts = space
    ? `: ${space.freeBytes} bytes are free and ${space.neededBytes} bytes (${megabytes(space.neededBytes)} MB) are needed`
    : ''
  return new UnusableFolder(
    `The disk of the data folder ${path} is full${amounts}. Free some space, or set DATA_DIR to a folder on another disk`,
    cause,
    'ENOSPC',
  )
}

const megabytes = (bytes: number): number => Math.ceil(bytes / 1024 / 1024)

/** Returns whether the disk or the user's quota is full. */
export const isDiskFull = (error: unknown): boolean => ['ENOSPC', 'EDQUOT'].includes(codeOf(error) ?? '')

/** Returns whether the disk is full or read-only. */
export const takesNoFiles = (error: unknown): boolean => isDiskFull(error) || codeOf(error) === 'EROFS'

/** Gives files created by root to their folder's owner, for later use without root. */
export function giveToFolderOwner(path: string): void {
  if (process.getuid?.() !== 0) return
  const { uid, gid } = statSync(dirname(path))
  if (uid !== statSync(path).uid) chownSync(path, uid, gid)
}
