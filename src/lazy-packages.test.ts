import { execFileSync } from 'node:child_process'
import { expect, test } from 'vitest'

/** Prints the packages that modules load when they are imported. */
const PROGRAM = `
  import { registerHooks } from 'node:module'
  const packages = new Set()
  registerHooks({
    load: (url, context, next) => {
      packages.add(/node_modules\\/((?:@[^/]+\\/)?[^/]+)/.exec(url)?.[1])
      return next(url, context)
    },
  })
  for (const module of process.argv.slice(1)) await import(module)
  console.log(JSON.stringify([...packages]))
  process.exit()
`
const MODULES = ['./app.ts', './wiring/workers.ts']

test('the libraries for mails, HTML, Redis and buckets are not loaded before they are used', () => {
  const modules = MODULES.map((path) => new URL(path, import.meta.url).href)
  const packages = JSON.parse(
    execFileSync(process.execPath, ['--input-type=module', '--eval', PROGRAM, ...modules], { encoding: 'utf8' }),
  )
  expect(packages).toContain('fastify')
  for (const lazy of ['nodemailer', 'html-to-text', 'parse5', 'ioredis', '@aws-sdk/client-s3']) {
    expect(packages).not.toContain(lazy)
  }
})
