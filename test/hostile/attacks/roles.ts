import { ALLOWED, EVERYONE } from '../../console/world/console-access.ts'
import type { Client } from '../client.ts'
import { runCommand } from '../command.ts'
import type { Contract } from '../operation.ts'
import type { Tally } from '../tally.ts'
import { signIn, type World } from '../world.ts'

/** An id that nothing has: a role that may call a route changes nothing by it. */
const MISSING = '987654321012'
const SIGN_OUT = 'DELETE /console/api/session'
const WITHOUT_BODY = ['GET', 'DELETE']
type Headers = Record<string, string>

/**
 * Calls every route with a session of each role, from a link of the API and from one of the command line: below the console's
 * prefix, and as the operator who acts for a company. A role that may not call a route gets 403, one that may does not.
 */
export async function attackRoles(world: World, client: Client, contract: Contract, tally: Tally): Promise<void> {
  const operations = contract.operations.map(({ method, path }) => `${method.toUpperCase()} ${path}`)
  // Signing out ends the session, so it comes last.
  const routes = [
    ...new Set([...operations.map((one) => one.replaceAll(/\{(\w+)\}/g, ':$1')), ...Object.keys(ALLOWED)]),
  ].filter((one) => one !== SIGN_OUT)
  const attacks = EVERYONE.map(async (role) => {
    const links = { 'the API': await linkOfApi(world, role), 'the command line': await linkOfCommand(world, role) }
    for (const [source, link] of Object.entries(links)) {
      const { headers, session } = await signIn(world.stage.url, new URL(link).hash.replace('#code=', ''))
      const name = `${role} of a link of ${source}`
      if (session.role !== role) tally.add('routes open to a wrong role', `${name}: the session is ${session.role}`)
      await callRoutes(world, client, tally, { name, role, headers, routes: [...routes, SIGN_OUT] })
    }
  })
  await Promise.all(attacks)
}

type Attack = { name: string; role: string; headers: Headers; routes: readonly string[] }

async function callRoutes(world: World, client: Client, tally: Tally, attack: Attack): Promise<void> {
  const { name, role, headers, routes } = attack
  const call = async (route: string, prefix: string): Promise<number> => {
    const [method = '', path = ''] = route.split(' ')
    const takesBody = !WITHOUT_BODY.includes(method)
    tally.requests++
    const { status } = await client.send({
      method,
      path: `${prefix}${pathOf(path)}`,
      headers: { ...headers, ...(takesBody && { 'content-type': 'application/json' }) },
      ...(takesBody && { body: '{}' }),
    })
    return status
  }
  for (const route of routes) {
    const add = (status: number, place = '') =>
      tally.add('routes open to a wrong role', `${route}${place} as ${name}: ${status}`)
    if (route in ALLOWED && route.includes(' /public/')) {
      const status = await call(route, `/console/api/as/${world.foreign.id}`)
      if (status !== 403) add(status, ' for another company')
    }
    const status = await call(route, '/console/api')
    if (!isExpected(route, role, status)) add(status)
  }
}

/** Routes that are not in the table are the operator's, or are not found below the prefix of the console. */
function isExpected(route: string, role: string, status: number): boolean {
  const allowed = ALLOWED[route]
  if (allowed?.includes(role)) return ![401, 403].includes(status) && status < 500
  return status === 403 || (allowed === undefined && !route.includes(' /admin/') && status === 404)
}

const pathOf = (path: string): string =>
  path
    .replace('/console/api', '')
    .replaceAll(/:\w+/g, MISSING)
    // The stream of no topic is refused; an open one would not end.
    .replace(/\/events$/, '/events?topics=none')

async function linkOfApi({ stage, own }: World, role: string): Promise<string> {
  const link = await stage.operator('POST', `/companies/${own.id}/sign-in-links`, { name: 'Mara', role })
  return String(Object(link).url)
}

async function linkOfCommand(world: World, role: string): Promise<string> {
  const args = ['console', 'link', String(world.own.id), '--name', 'Mara', '--role', role, '--json']
  const { code, output } = await runCommand(world, args)
  if (code !== 0) throw new Error(`parley ${args.join(' ')}: ${output}`)
  return JSON.parse(output).url
}
