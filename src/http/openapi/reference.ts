import { Worker } from 'node:worker_threads'
import swagger from '@fastify/swagger'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { refreshed } from '../../platform/cache.ts'
import { programFile } from '../../platform/program-file.ts'
import type { Config } from '../../platform/settings/config.ts'
import { IMMUTABLE, REVALIDATE, sendStaticFile, toStaticFile, versionOf } from '../server/answers/static-file.ts'
import { isUnrebindableHost } from '../server/request-head.ts'
import { completeDocument } from './components.ts'
import { errorsOf } from './errors.ts'
import { guideTo } from './guide.ts'
import type { ReferencePage } from './reference-page.ts'

// Own scripts and styles only, and no requests to other hosts.
const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "script-src 'self' 'unsafe-inline'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data: blob:",
  "font-src 'self' data:",
  "connect-src 'self'",
  "worker-src 'self' blob:",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

const TAGS = [
  { name: 'WhatsApp', description: 'Messages, connected numbers and message templates.' },
  { name: 'Conversations', description: 'Conversations with their messages and files.' },
  { name: 'Webhook registrations', description: 'Event receivers and their deliveries.' },
  { name: 'Provider', description: 'The webhook called by the messaging provider.' },
  { name: 'Contacts', description: 'Contacts, consent, imports and exports.' },
  { name: 'Custom fields', description: 'Custom field definitions for contacts.' },
  { name: 'Email', description: 'One-shot emails, template emails and statistics.' },
  {
    name: 'Credentials',
    description: 'Company and permissions of an API key, and console sign-in links.',
  },
  { name: 'Legacy', description: 'Deprecated endpoints and their replacements.' },
  { name: 'Operator', description: "Companies, API keys and connected numbers, for the service's operator." },
]

const FOREVER = Number.POSITIVE_INFINITY
const JSON_TYPE = 'application/json; charset=utf-8'

/** Collects routes registered afterwards into an OpenAPI document, with outgoing requests as `webhooks`. */
export async function describeApi(
  app: FastifyInstance,
  config: Pick<Config, 'baseUrl' | 'apiKeyPrefix'>,
  webhooks: Record<string, object>,
): Promise<void> {
  await app.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: {
        title: 'Parley',
        version: '1',
        description: guideTo(config.baseUrl, config.apiKeyPrefix),
        contact: { name: 'API reference', url: `${config.baseUrl}/docs` },
        license: { name: 'Apache-2.0', url: 'https://www.apache.org/licenses/LICENSE-2.0' },
      },
      servers: [{ url: config.baseUrl }],
      webhooks,
      components: {
        securitySchemes: {
          apiKey: {
            type: 'http',
            scheme: 'bearer',
            description: `An API key: \`${config.apiKeyPrefix}-<CLIENT_ID>-<KEY>\`. Must have one of the permissions in the operation's \`x-permissions\`.`,
          },
          adminToken: { type: 'http', scheme: 'bearer', description: 'The operator token.' },
        },
      },
      tags: TAGS,
    },
    transform: ({ schema, url, route: { method, config = {} } }) => {
      const { surface = 'api-key', permissions = ['WhatsApp', 'Transactional'] } = config
      const access = surface === 'operator' ? [{ adminToken: [] }] : []
      return {
        schema: {
          ...schema,
          ...(surface === 'api-key' ? { 'x-permissions': permissions } : { security: access }),
          'x-errors': errorsOf([method].flat()[0] ?? 'GET', url, config),
        },
        url,
      }
    },
    transformObject: (document) => {
      if (!('openapiObject' in document)) return document.swaggerObject
      const { openapiObject } = document
      // A copy, since routes and events share shapes.
      const completed = completeDocument(JSON.parse(JSON.stringify(openapiObject)))
      return Object.assign(openapiObject, completed, { security: [{ apiKey: [] }] })
    },
  })
}

type ReferenceOptions = {
  /** Called once, on the first page request. */
  findDemoToken?: () => Promise<string | undefined>
  /** Only pages at this URL, `localhost` or an IP address get the key, because of DNS rebinding. */
  baseUrl?: string
}

/** Serves `/openapi.json` and `/docs`, without a key. Builds the files on first request and keeps them in memory. */
export function serveReference(app: FastifyInstance, { findDemoToken, baseUrl }: ReferenceOptions = {}): void {
  const document = refreshed(
    () => toStaticFile(JSON_TYPE, Buffer.from(JSON.stringify(app.swagger()))),
    Number.POSITIVE_INFINITY,
  )
  const token = refreshed(async () => findDemoToken?.(), FOREVER)
  const page = refreshed(async () => buildPage(undefined), FOREVER)
  const pageWithToken = refreshed(async () => buildPage(await token()), FOREVER)
  const own = baseUrl === undefined ? undefined : new URL(baseUrl)
  const isOwnHost = ({ headers }: FastifyRequest): boolean =>
    own !== undefined &&
    isUnrebindableHost(own, headers.host ?? '') &&
    [headers['x-forwarded-host'] ?? []].flat().every((host) => isUnrebindableHost(own, host))
  const route = { config: { surface: 'public', waitsForOthers: true }, schema: { hide: true } } as const

  app.get('/openapi.json', route, async (request, reply) =>
    sendStaticFile(request, reply, await document(), REVALIDATE),
  )
  app.get('/docs', route, async (_request, reply) => reply.redirect('/docs/', 301))
  app.get('/docs/', route, async (request, reply) => {
    reply.header('content-security-policy', CONTENT_SECURITY_POLICY)
    const hasToken = isOwnHost(request) && (await token()) !== undefined
    return sendStaticFile(request, reply, (await (hasToken ? pageWithToken : page)()).page, REVALIDATE)
  })
  app.get<{ Querystring: { v?: unknown } }>('/docs/js/scalar.js', route, async (request, reply) => {
    const { script } = await page()
    // During an upgrade, a page may request the other version's script; do not cache that response.
    return sendStaticFile(request, reply, script, request.query.v === versionOf(script) ? IMMUTABLE : REVALIDATE)
  })
}

function buildPage(demoToken: string | undefined): Promise<ReferencePage> {
  return new Promise((resolve, reject) => {
    new Worker(programFile('src/http/openapi/reference-page.ts'), { workerData: { demoToken } })
      .once('message', resolve)
      .once('error', reject)
      .once('exit', () => reject(new Error('The thread that builds the API reference ended without a page')))
  })
}
