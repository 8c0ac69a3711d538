import { createCipheriv, createDecipheriv, createHash, randomBytes } from 'node:crypto'
import { link, open, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { giveToFolderOwner } from '../platform/files/writable-folder.ts'
import { codeOf, messageOf, StartError } from '../platform/start-error.ts'

export type Cipher = {
  readonly keyIds: readonly string[]
  encrypt(text: string): string
  /** @throws Error for altered text or an unknown key */
  decrypt(sealed: string): string
}

const ALGORITHM = 'aes-256-gcm'
const IV_BYTES = 12
const TAG_BYTES = 16

/**
 * Creates an AES-256-GCM cipher from 32-byte base64 keys. The first encrypts, all decrypt: to rotate, prepend a new key.
 * Format: `v1.<key id>.<iv>.<ciphertext and tag>` in base64url; the key id is the first 8 hex digits of the key's SHA-256.
 */
export function createCipher(keys: readonly string[]): Cipher {
  const keysById = new Map(keys.map(toKey).map((key) => [idOf(key), key]))
  const [first] = keysById
  if (!first) throw new Error('A cipher needs at least one key')
  return {
    keyIds: [...keysById.keys()],
    encrypt: (text) => seal(first[0], first[1], text),
    decrypt: (sealed) => unseal(keysById, sealed),
  }
}

function toKey(text: string): Buffer {
  const key = Buffer.from(text, 'base64')
  if (key.length !== 32) throw new Error('An encryption key must be 32 bytes in base64')
  return key
}

const idOf = (key: Buffer): string => createHash('sha256').update(key).digest('hex').slice(0, 8)

function seal(keyId: string, key: Buffer, text: string): string {
  const head = `v1.${keyId}`
  const iv = randomBytes(IV_BYTES)
  const cipher = createCipheriv(ALGORITHM, key, iv).setAAD(Buffer.from(head))
  const body = Buffer.concat([cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()])
  return `${head}.${iv.toString('base64url')}.${body.toString('base64url')}`
}

function unseal(keys: Map<string, Buffer>, sealed: string): string {
  const [version, keyId = '', iv = '', body = '', ...rest] = sealed.split('.')
  if (version !== 'v1' || rest.length > 0) throw new Error('Not a sealed secret')
  const key = keys.get(keyId)
  if (!key) throw new Error(`The secret is sealed with the key ${keyId}, which is not in ENCRYPTION_KEY: add it there`)
  const bytes = Buffer.from(body, 'base64url')
  const split = Math.max(bytes.length - TAG_BYTES, 0)
  try {
    const decipher = createDecipheriv(ALGORITHM, key, Buffer.from(iv, 'base64url'), { authTagLength: TAG_BYTES })
      .setAAD(Buffer.from(`v1.${keyId}`))
      .setAuthTag(bytes.subarray(split))
    return Buffer.concat([decipher.update(bytes.subarray(0, split)), decipher.final()]).toString('utf8')
  } catch (error) {
    throw new Error('The sealed secret was altered', { cause: error })
  }
}

/** Returns a secret from the data folder, created on first use (mode 0600). Atomic: concurrent processes all get the same one. */
export async function ensureDataSecret(dataDir: string, name: string, make: () => string): Promise<string> {
  const path = join(dataDir, name)
  try {
    return (await readSecret(path)) ?? (await keepSecret(path, make()))
  } catch (error) {
    if (error instanceof StartError) throw error
    throw new StartError(`The secret ${path} can't be read or created: ${messageOf(error)}`, error)
  }
}

async function readSecret(path: string): Promise<string | undefined> {
  const text = await readFile(path, 'utf8').catch((error) => {
    if (codeOf(error) === 'ENOENT') return undefined
    throw error
  })
  if (text?.trim() === '')
    throw new StartError(`The secret ${path} is empty: restore it, or remove it to have it created again`)
  return text?.trim()
}

async function keepSecret(path: string, secret: string): Promise<string> {
  const unfinished = `${path}.${randomBytes(4).toString('hex')}`
  try {
    const file = await open(unfinished, 'wx', 0o600)
    await file
      .writeFile(`${secret}\n`)
      .then(() => file.sync())
      .finally(() => file.close())
    giveToFolderOwner(unfinished)
    await link(unfinished, path)
    return secret
  } catch (error) {
    // Another process was first; use its secret.
    const theirs = codeOf(error) === 'EEXIST' ? await readSecret(path) : undefined
    if (theirs === undefined) throw error
    return theirs
  } finally {
    await rm(unfinished, { force: true })
  }
}
