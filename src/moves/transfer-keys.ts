import { createHmac, type Hmac, scryptSync } from 'node:crypto'
import { type Cipher, createCipher } from '../secrets/secrets.ts'
import { type Entry, FORMAT, FORMAT_VERSION, type Header, MoveRefused, readTransferFile } from './transfer-file.ts'

const MIN_PASSPHRASE = 12

export type Authenticator = () => Hmac

/**
 * Returns the keys that the passphrase and the salt of the file make. The header is not authentic yet: nothing but its salt and a
 * secret, which shows whether the passphrase is right, is used.
 */
export async function readKeys(
  file: string,
  passphrase: string,
): Promise<{ transfer: Cipher; authenticator: Authenticator }> {
  const entries = readTransferFile(file)
  const header = await readArchiveHeader(entries).finally(() => entries.return(undefined))
  const keys = transferKeys(passphrase, header.salt)
  decryptWith(keys.transfer, header.mediaSecret)
  return keys
}

/** Derives two keys: one encrypts secrets, the other one authenticates the file. */
export function transferKeys(passphrase: string, salt: string): { transfer: Cipher; authenticator: Authenticator } {
  if (passphrase.length < MIN_PASSPHRASE)
    throw new MoveRefused(`The passphrase needs at least ${MIN_PASSPHRASE} characters`)
  const keys = scryptSync(passphrase, Buffer.from(salt, 'base64'), 64)
  return {
    transfer: createCipher([keys.subarray(0, 32).toString('base64')]),
    authenticator: () => createHmac('sha256', keys.subarray(32)),
  }
}

/** Returns the header of a transfer file; throws MoveRefused when it is none. */
export async function readArchiveHeader(entries: AsyncGenerator<Header | Entry>): Promise<Header> {
  const first = (await entries.next()).value
  if (first === undefined || !('format' in first) || first.format !== FORMAT || typeof first.salt !== 'string') {
    throw new MoveRefused('The file is no export of a company')
  }
  if (first.version !== FORMAT_VERSION)
    throw new MoveRefused(`The file has version ${first.version} of the format, not ${FORMAT_VERSION}`)
  return first
}

/** Decrypts a secret of the file; throws MoveRefused when the passphrase is wrong. */
export function decryptWith(transfer: Cipher, sealed: string): string {
  try {
    return transfer.decrypt(sealed)
  } catch {
    throw new MoveRefused('The passphrase is wrong')
  }
}
