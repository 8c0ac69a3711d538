import type { FastifyInstance } from 'fastify'

/** Every route of an app as `METHOD /path`, in alphabetical order, without the HEAD of each GET. */
export function routesOf(app: FastifyInstance): string[] {
  const open: string[] = []
  return app
    .printRoutes({ commonPrefix: false })
    .trimEnd()
    .split('\n')
    .flatMap((line) => {
      const [, indent = '', part = '', methods = ''] = /^([│\s]*)[├└]── (.*) \(([A-Z, ]+)\)$/.exec(line) ?? []
      const depth = indent.length / 4
      open.splice(depth, open.length, part)
      return methods.split(', ').flatMap((method) => (method === 'HEAD' ? [] : [`${method} ${open.join('')}`]))
    })
    .sort()
}
