import swagger from '@fastify/swagger'
import Fastify, {
  type FastifyContextConfig,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
} from 'fastify'
import type { Config } from '../config.ts'
import { addCommonResponses } from './reference-responses.ts'

type Surface = NonNullable<FastifyContextConfig['surface']>

const SECURITY: Record<Surface, Record<string, string[]>[]> = {
  'api-key': [{ apiKey: [] }],
  operator: [{ adminToken: [] }],
  provider: [],
  public: [],
  health: [],
}

// The page runs its own script and styles, and talks to nobody but this service.
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

/** Collects the shapes of all routes that are registered afterwards into one OpenAPI document. */
export async function describeApi(
  app: FastifyInstance,
  config: Pick<Config, 'baseUrl' | 'apiKeyPrefix'>,
): Promise<void> {
  await app.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: {
        title: 'Parley',
        version: '1',
        description: 'WhatsApp messages, contacts and email behind one HTTP JSON API.',
        license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
      },
      servers: [{ url: config.baseUrl }],
      components: {
        securitySchemes: {
          apiKey: {
            type: 'http',
            scheme: 'bearer',
            description: `API key: \`${config.apiKeyPrefix}-<CLIENT_ID>-<KEY>\``,
          },
          adminToken: { type: 'http', scheme: 'bearer', description: "The operator's token" },
        },
      },
      tags: [
        { name: 'WhatsApp' },
        { name: 'Conversations' },
        { name: 'Webhook registrations' },
        { name: 'Provider webhook' },
        { name: 'Contacts' },
        { name: 'Custom fields' },
        { name: 'Email' },
        { name: 'Legacy', description: 'Deprecated: see each address for its replacement' },
        { name: 'Operator' },
      ],
    },
    transform: ({ schema, url, route }) => {
      const security = SECURITY[route.config?.surface ?? 'api-key']
      return { schema: { ...schema, security: schema?.security ?? security }, url }
    },
    transformObject: (document) =>
      'openapiObject' in document ? withCommonResponses(document.openapiObject) : document.swaggerObject,
  })
}

function withCommonResponses<Document extends object>(document: Document): Document {
  return Object.assign(document, addCommonResponses(JSON.parse(JSON.stringify(document))))
}

/** `/openapi.json`, and `/docs` to read it by: for everybody, without a key, and without a request to another host. */
export async function serveReference(app: FastifyInstance): Promise<void> {
  const config = { surface: 'public' } as const
  app.get('/openapi.json', { config, schema: { hide: true } }, async () => app.swagger())

  let page: Promise<FastifyInstance> | undefined
  const show = async (request: FastifyRequest, reply: FastifyReply) => {
    page ??= buildPage()
    const { statusCode, headers, rawPayload } = await (await page).inject(request.url)
    return reply
      .headers({ ...headers, 'content-security-policy': CONTENT_SECURITY_POLICY, 'x-content-type-options': 'nosniff' })
      .removeHeader('connection')
      .code(statusCode)
      .send(rawPayload)
  }
  for (const address of ['/docs', '/docs/*']) app.get(address, { config, schema: { hide: true } }, show)
}

/** The page apart from the service: its program takes 40 MB, which only those spend who read it. */
async function buildPage(): Promise<FastifyInstance> {
  const { default: scalar } = await import('@scalar/fastify-api-reference')
  const page = Fastify()
  await page.register(scalar, {
    routePrefix: '/docs',
    configuration: {
      url: '/openapi.json',
      pageTitle: 'Parley API reference',
      withDefaultFonts: false,
      telemetry: false,
      hideClientButton: true,
      showDeveloperTools: 'never',
      agent: { disabled: true },
      mcp: { disabled: true },
    },
  })
  return page
}
