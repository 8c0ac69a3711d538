import { access } from 'node:fs/promises'
import { join } from 'node:path'
import fastifyStatic from '@fastify/static'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Config } from '../config.ts'
import { notFound } from '../errors.ts'
import { isHostOf } from '../http/host-rule.ts'
import { createAnswerLimit, IMMUTABLE, REVALIDATE } from '../http/static-file.ts'
import { pageHeaders } from './page-headers.ts'

export type PageDeps = {
  config: Pick<Config, 'baseUrl'>
  /** The folder of the built console. */
  pagesFolder: string
  sandboxUrl: string | undefined
  /** The host that a client asked for. */
  hostOf: (request: FastifyRequest) => string
}

const NOT_BUILT =
  'The console is not built: run "node scripts/setup.mjs" in the folder of Parley, or set CONSOLE=off.\n'
/** The build has no folders but one, and no names with blanks. */
const NAME = /^(assets\/)?\w[\w.-]*$/
const route = { config: { surface: 'public', waitsForOthers: true }, schema: { hide: true } } as const

/**
 * The files of the console (docs/console.md). Names of assets hold a hash, so browsers keep them; every other address
 * below `/console/` that a browser opens is index.html, whose script shows the page.
 */
export function pageRoutes({ config, pagesFolder, sandboxUrl, hostOf }: PageDeps): FastifyPluginAsyncTypebox {
  const base = new URL(config.baseUrl)
  const headers = pageHeaders(sandboxUrl)
  const limitAnswers = createAnswerLimit()

  const sendFile = async (request: FastifyRequest, reply: FastifyReply, name: string, cacheControl: string) => {
    // Browsers must not keep the answer that a file is missing.
    if (!NAME.test(name) || (await isMissing(join(pagesFolder, name)))) throw notFound()
    limitAnswers(request, reply)
    return reply.headers({ ...headers, 'cache-control': cacheControl }).sendFile(name, pagesFolder)
  }

  const sendPage = async (request: FastifyRequest, reply: FastifyReply) => {
    if (await isMissing(join(pagesFolder, 'index.html'))) return reply.code(503).type('text/plain').send(NOT_BUILT)
    return sendFile(request, reply, 'index.html', REVALIDATE)
  }

  return async (app) => {
    await app.register(fastifyStatic, { serve: false, preCompressed: true, cacheControl: false, dotfiles: 'deny' })

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

/** Browsers ask for HTML when they open an address, and for nothing else. */
const opensPage = ({ headers }: FastifyRequest): boolean => headers.accept?.includes('text/html') ?? false

const isMissing = (path: string): Promise<boolean> =>
  access(path).then(
    () => false,
    () => true,
  )
