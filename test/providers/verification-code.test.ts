import { spawnSync } from 'node:child_process'
import { createHmac } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { type Language, verificationCode } from '../../console/receivers/form/verification-code.ts'

const HEADER = 'X-Service-Signature'
const SECRET = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'
const BODY = '{"message":{"text":"Grüße"}}'
const SIGNATURE = createHmac('sha256', SECRET).update(BODY).digest('hex')

type Program = { command: string; file: string; args: (file: string) => string[]; main: string }

/** Each language with a program that calls the function with BODY and the signature in the environment, and prints the result. */
const PROGRAMS: Record<Language, Program> = {
  node: {
    command: process.execPath,
    file: 'main.mjs',
    args: (file) => [file],
    main: `console.log(isSigned(Buffer.from(process.env.BODY), { 'x-service-signature': process.env.SIGNATURE }))`,
  },
  python: {
    command: 'python3',
    file: 'main.py',
    args: (file) => [file],
    main: `print(str(is_signed(os.environ["BODY"].encode(), {"${HEADER}": os.environ["SIGNATURE"]})).lower())`,
  },
  php: {
    command: 'php',
    file: 'main.php',
    args: (file) => [file],
    main: `$_SERVER['HTTP_X_SERVICE_SIGNATURE'] = getenv('SIGNATURE'); echo json_encode(isSigned(getenv('BODY'))), "\\n";`,
  },
  go: {
    command: 'go',
    file: 'main.go',
    args: (file) => ['run', file],
    main: `func main() { println(isSigned([]byte(os.Getenv("BODY")), http.Header{"${HEADER}": {os.Getenv("SIGNATURE")}})) }`,
  },
}
const isInstalled = (command: string) => spawnSync(command, ['--version']).error === undefined

for (const [language, { command, file, args, main }] of Object.entries(PROGRAMS) as [Language, Program][]) {
  test.skipIf(!isInstalled(command))(
    `the code for ${language} accepts a signed body and refuses every other`,
    () => {
      const folder = mkdtempSync(join(tmpdir(), 'parley-code-'))
      onTestFinished(() => rmSync(folder, { recursive: true }))
      const path = join(folder, file)
      writeFileSync(path, `${verificationCode(language, HEADER).replace('package receiver', 'package main')}${main}\n`)
      const run = (body: string, signature: string) => {
        const env = { ...process.env, WEBHOOK_SECRET: SECRET, BODY: body, SIGNATURE: signature }
        // The println of Go writes to stderr.
        const { stdout, stderr } = spawnSync(command, args(path), { env, encoding: 'utf8' })
        return `${stdout}${stderr}`.trim()
      }
      expect(run(BODY, SIGNATURE)).toBe('true')
      expect(run(`${BODY} `, SIGNATURE)).toBe('false')
      expect(run(BODY, '')).toBe('false')
      expect(run(BODY, 'no hex')).toBe('false')
    },
    300_000,
  )
}
