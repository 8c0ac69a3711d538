import { type Answer, jsonAnswer, type Received } from '../answer.ts'
import type { ControlRoute } from '../control-routes.ts'
import { BadInput } from './bad-input.ts'
import type { ControlDeps } from './control-deps.ts'

export type ControlRouter = (deps: ControlDeps, request: Received) => Promise<Answer>

/** Finds the route and answers what it returns as JSON; bad input is a 400 that names the field. */
export function createControlRouter(routes: ControlRoute[]): ControlRouter {
  const matchers = routes.map((route) => ({ route, pattern: patternOf(route.path) }))
  return async (deps, request) => {
    const fault = browserFault(request)
    if (fault !== undefined) return jsonAnswer({ error: { message: fault } }, 403)
    const [path = '', query = ''] = request.url.split('?', 2)
    for (const { route, pattern } of matchers) {
      const match = route.method === request.method && pattern.exec(path)
      if (match) return answer(route, deps, request, { ...match.groups }, new URLSearchParams(query))
    }
    return jsonAnswer({ error: { message: `No such call: ${request.method} ${path}` } }, 404)
  }
}

const LOOPBACK = /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])(:\d+)?$/i

/**
 * A page of another site must not use the control address through a visitor's browser: neither by a request of its own
 * origin, nor under a name that resolves to this machine.
 */
function browserFault({ headers }: Received): string | undefined {
  if (!LOOPBACK.test(headers.host ?? '')) return 'The control address answers under a loopback name only'
  const origin = headers.origin === undefined ? undefined : URL.parse(headers.origin)
  return headers.origin !== undefined && origin?.host !== headers.host ? 'The origin is a foreign one' : undefined
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
