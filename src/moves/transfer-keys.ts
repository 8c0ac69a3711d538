import { createHmac, type Hmac, scryptSync } from 'node:crypto'
import { type Cipher, createCipher } from '../secrets/secrets.ts'
import { type Entry, FORMAT, FORMAT_VERSION, type Header, MoveRefused, readTransferFile } from './transfer-file.ts'

const MIN_PASSPHRASE = 12

export type Authenticator = () => Hmac

/** The header is not yet authenticated, so must only be used for its salt and one secret to check the passphrase. */
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

export function transferKeys(passphrase: string, salt: string): { transfer: Cipher; authenticator: Authenticator } {
  if (passphrase.length < MIN_PASSPHRASE)
    throw new MoveRefused(`The passphrase needs at least ${MIN_PASSPHRASE} characters`)
  const keys = scryptSync(passphrase, Buffer.from(salt, 'base64'), 64)
  return {
    transfer: createCipher([keys.subarray(0, 32).toString('base64')]),
    authenticator: () => createHmac('sha256', keys.subarray(32)),
  }
}

/** @throws {MoveRefused} if the file has another format */
export async function readArchiveHeader(entries: AsyncGenerator<Header | Entry>): Promise<Header> {
  const first = (await entries.next()).value
  if (first === undefined || !('format' in first) || first.format !== FORMAT || typeof first.salt !== 'string') {
    throw new MoveRefused('The file is no export of a company')
  }
  if (first.version !== FORMAT_VERSION)
    throw new MoveRefused(`The file has version ${first.version} of the format, not ${FORMAT_VERSION}`)
  return first
}

/** @throws {MoveRefused} for a wrong passphrase */
export function decryptWith(transfer: Cipher, sealed: string): string {
  try {
    return transfer.decrypt(sealed)
  } catch {
    throw new MoveRefused('The passphrase is wrong')
  }
}
