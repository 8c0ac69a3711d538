import { randomBytes } from 'node:crypto'
import { mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, onTestFinished, test } from 'vitest'
import { createCipher, ensureDataSecret } from './secrets.ts'

const newKey = () => randomBytes(32).toString('base64')

describe('cipher', () => {
  test('any text comes back, and is never the same when sealed twice', () => {
    const cipher = createCipher([newKey()])
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        const sealed = cipher.encrypt(text)
        expect(sealed).toMatch(/^v1\.[0-9a-f]{8}\.[\w-]{16}\.[\w-]+$/)
        expect(cipher.decrypt(sealed)).toBe(text)
        expect(cipher.encrypt(text)).not.toBe(sealed)
      }),
    )
  })

  test('a change of any character is noticed', () => {
    const cipher = createCipher([newKey()])
    // 32 bytes plus the tag fill 64 base64 characters exactly: no spare bits to change unnoticed.
    const sealed = cipher.encrypt('x'.repeat(32))
    for (let at = 0; at < sealed.length; at++) {
      const altered = sealed.slice(0, at) + (sealed[at] === 'A' ? 'B' : 'A') + sealed.slice(at + 1)
      expect(() => cipher.decrypt(altered), `character ${at}`).toThrow()
    }
    for (const damaged of ['', 'v1', sealed.slice(0, -4), `${sealed}.x`, sealed.slice(0, 24)]) {
      expect(() => cipher.decrypt(damaged), damaged).toThrow()
    }
  })

  test('a new key in front encrypts, the old one still decrypts until it is taken away', () => {
    const [old, fresh] = [newKey(), newKey()]
    const before = createCipher([old]).encrypt('secret')
    const both = createCipher([fresh, old])
    expect(both.decrypt(before)).toBe('secret')
    expect(createCipher([fresh]).decrypt(both.encrypt('secret'))).toBe('secret')
    expect(() => createCipher([fresh]).decrypt(before)).toThrow(/is sealed with the key [0-9a-f]{8}, which is not in/)
  })

  test('no key, or one that is not 32 bytes, is refused', () => {
    expect(() => createCipher([])).toThrow('at least one key')
    expect(() => createCipher(['c2hvcnQ='])).toThrow('32 bytes')
  })
})

describe('secrets in the data folder', () => {
  function folder(): string {
    const path = mkdtempSync(join(tmpdir(), 'parley-secret-'))
    onTestFinished(() => rmSync(path, { recursive: true }))
    return path
  }

  test('one is made once, for its owner’s eyes only', async () => {
    const path = folder()
    expect(await ensureDataSecret(path, 'admin-token', () => 'first')).toBe('first')
    expect(await ensureDataSecret(path, 'admin-token', () => 'second')).toBe('first')
    expect(statSync(join(path, 'admin-token')).mode & 0o777).toBe(0o600)
    expect(readdirSync(path)).toEqual(['admin-token'])
  })

  test('all processes that make it at once get the same', async () => {
    const path = folder()
    const secrets = await Promise.all(
      Array.from({ length: 20 }, (_, n) => ensureDataSecret(path, 'encryption-key', () => `secret ${n}`)),
    )
    expect(new Set(secrets).size).toBe(1)
    expect(readdirSync(path)).toEqual(['encryption-key'])
  })

  test('an empty file and a missing folder are reported', async () => {
    const path = folder()
    writeFileSync(join(path, 'admin-token'), '\n')
    await expect(ensureDataSecret(path, 'admin-token', () => 'new')).rejects.toThrow('is empty: restore it')
    await expect(ensureDataSecret(join(path, 'none'), 'admin-token', () => 'new')).rejects.toThrow(
      "can't be read or created",
    )
  })
})
