import { type Answer, jsonAnswer, type Received } from '../answer.ts'
import type { ControlRoute } from '../control-routes.ts'
import { streamWorld } from '../phone-page/stream.ts'
import { BadInput } from './bad-input.ts'
import type { ControlDeps } from './control-deps.ts'

export type ControlRouter = (deps: ControlDeps, request: Received) => Promise<Answer>

/** Finds the route and answers what it returns as JSON; bad input is a 400 that names the field. */
export function createControlRouter(routes: ControlRoute[]): ControlRouter {
  const matchers = routes.map((route) => ({ route, pattern: patternOf(route.path) }))
  return async (deps, request) => {
    const fault = browserFault(request, deps.webhook.target.url)
    if (fault !== undefined) return jsonAnswer({ error: { message: fault } }, 403)
    if (!isJsonOrEmpty(request)) return jsonAnswer({ error: { message: NOT_JSON } }, 415)
    const [path = '', query = ''] = request.url.split('?', 2)
    if (path === '/sandbox/stream' && request.method === 'GET') return streamWorld(deps, new URLSearchParams(query))
    for (const { route, pattern } of matchers) {
      const match = route.method === request.method && pattern.exec(path)
      if (match) return answer(route, deps, request, { ...match.groups }, new URLSearchParams(query))
    }
    return jsonAnswer({ error: { message: `No such call: ${request.method} ${path}` } }, 404)
  }
}

const LOOPBACK = /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])(:\d+)?$/i

const NOT_JSON = 'The Content-Type must be application/json'

/**
 * A page of another site must not use the control address through a visitor's browser: neither by a request of its own
 * origin, nor under a name that resolves to this machine. Pages of the sandbox and of the service may.
 */
function browserFault({ headers: { host, origin } }: Received, webhookUrl: string | undefined): string | undefined {
  if (!LOOPBACK.test(host ?? '')) return 'The control address answers under a loopback name only'
  const own = [`http://${host}`, webhookUrl === undefined ? undefined : URL.parse(webhookUrl)?.origin]
  return origin === undefined || own.includes(origin) ? undefined : 'The origin is a foreign one'
}

/** Forms of any site can send every other type of body without asking first. */
function isJsonOrEmpty({ contentType, body }: Received): boolean {
  if (contentType === undefined) return body.length === 0
  return contentType.split(';', 1)[0]?.trim().toLowerCase() === 'application/json'
}

const patternOf = (path: string): RegExp => new RegExp(`^${path.replace(/:(\w+)/g, '(?<$1>[^/]+)')}/?$`)

async function answer(
  route: ControlRoute,
  deps: ControlDeps,
  request: Received,
  params: Record<string, string>,
  query: URLSearchParams,
): Promise<Answer> {
  try {
    return jsonAnswer(await route.answer(deps, { params, query, body: parseBody(request.body) }))
  } catch (error) {
    if (!(error instanceof BadInput)) throw error
    return jsonAnswer({ error: { field: error.field, message: error.message } }, error.status)
  }
}

function parseBody(body: Buffer): unknown {
  if (body.length === 0) return undefined
  try {
    return JSON.parse(body.toString())
  } catch {
    throw new BadInput('body', 'is not JSON')
  }
}
