import { extname, join } from 'node:path'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { ERROR_CODE_HEADER } from '../http/errors/error-reply.ts'
import {
  IMMUTABLE,
  REVALIDATE,
  readStaticFile,
  type StaticFile,
  sendStaticFile,
} from '../http/server/answers/static-file.ts'
import { isHostOf } from '../http/server/request-head.ts'
import { notFound } from '../platform/errors.ts'
import type { Config } from '../platform/settings/config.ts'

export type PageDeps = {
  config: Pick<Config, 'baseUrl'>
  pagesFolder: string
  sandboxUrl: string | undefined
  hostOf: (request: FastifyRequest) => string
}

const NOT_BUILT =
  'The console is not built: run "node scripts/setup.mjs" in the folder of Parley, or set CONSOLE=off.\n'
const NAME = /^(assets\/)?\w[\w.-]*$/
const TYPES: Record<string, string> = {
  '.css': 'text/css; charset=utf-8',
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
}
const route = { config: { surface: 'public', waitsForOthers: true }, schema: { hide: true } } as const

/** Serves the built console (docs/console.md). Asset names contain a hash; any other page is index.html. */
export function pageRoutes({ config, pagesFolder, sandboxUrl, hostOf }: PageDeps): FastifyPluginAsyncTypebox {
  const base = new URL(config.baseUrl)
  const headers = pageHeaders(sandboxUrl)

  const sendFile = async (request: FastifyRequest, reply: FastifyReply, name: string, cacheControl: string) => {
    const file = await readPage(pagesFolder, name)
    if (file === undefined) throw notFound()
    return sendStaticFile(request, reply.headers(headers), file, cacheControl)
  }

  const sendPage = async (request: FastifyRequest, reply: FastifyReply) => {
    const file = await readPage(pagesFolder, 'index.html')
    if (file === undefined) {
      return reply.code(503).header(ERROR_CODE_HEADER, 'service_unavailable').type('text/plain').send(NOT_BUILT)
    }
    return sendStaticFile(request, reply.headers(headers), file, REVALIDATE)
  }

  return async (app) => {
    app.addHook('onRequest', async (request, reply) => {
      if (!isHostOf(base, hostOf(request))) return reply.redirect(`${base.origin}${request.url}`)
    })

    app.get('/', route, async (request, reply) => {
      if (!opensPage(request)) throw notFound()
      return reply.redirect(`${base.origin}/console/`)
    })
    app.get('/console', route, async (_request, reply) => reply.redirect(`${base.origin}/console/`))
    app.get('/console/', route, sendPage)
    app.get('/console/icon.svg', route, async (request, reply) => sendFile(request, reply, 'icon.svg', REVALIDATE))
    app.get<{ Params: { '*': string } }>('/console/assets/*', route, async (request, reply) =>
      sendFile(request, reply, `assets/${request.params['*']}`, IMMUTABLE),
    )
    app.get('/console/*', route, async (request, reply) => {
      if (request.url.startsWith('/console/api') || !opensPage(request)) throw notFound()
      return sendPage(request, reply)
    })
  }
}

/** Browsers accept HTML only for navigation. */
const opensPage = ({ headers }: FastifyRequest): boolean => headers.accept?.includes('text/html') ?? false

/** Reads the file on every request, since a build may replace it. */
async function readPage(folder: string, name: string): Promise<StaticFile | undefined> {
  const contentType = TYPES[extname(name)]
  return NAME.test(name) && contentType !== undefined ? readStaticFile(contentType, join(folder, name)) : undefined
}

function pageHeaders(sandboxUrl: string | undefined): Record<string, string> {
  const frames = sandboxUrl === undefined ? "'self'" : `'self' ${new URL(sandboxUrl).origin}`
  return {
    'content-security-policy': [
      "default-src 'none'",
      "script-src 'self'",
      "style-src 'self'",
      "img-src 'self' data: blob:",
      "media-src 'self' blob:",
      "font-src 'self'",
      "connect-src 'self'",
      `frame-src ${frames}`,
      "form-action 'none'",
      "base-uri 'none'",
      "frame-ancestors 'none'",
      "require-trusted-types-for 'script'",
    ].join('; '),
    'x-content-type-options': 'nosniff',
    'referrer-policy': 'no-referrer',
    'cross-origin-opener-policy': 'same-origin',
    'cross-origin-resource-policy': 'same-origin',
  }
}
