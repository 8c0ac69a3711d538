import { spawnSync } from 'node:child_process'
import { globSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { parse, parseAllDocuments } from 'yaml'
import { readConfig } from '../../src/platform/settings/config.ts'
import { dockerEnv, has, ROOT, read, SETTINGS } from './deploy-files.ts'

/** The overlays that run Parley, each with the settings of its deployments in addition to the common ones. */
const OVERLAYS = {
  'one-node': [{ role: 'all', migrate: true }],
  'api-and-workers': [
    { role: 'api', migrate: false },
    { role: 'worker', migrate: false },
  ],
}

describe('deploy/kubernetes/', () => {
  const isOf = (kind: string) => (document: Document) => document.kind === kind
  const names = ['migrate', 'one-node', 'api-and-workers', 'cloudnative-pg', 'monitoring']
  const all = resourcesOf('deploy/kubernetes', names)
  const ofKubernetes = all.filter(
    ({ apiVersion }) => !/^(postgresql\.cnpg\.io|monitoring\.coreos\.com)\//.test(apiVersion),
  )

  test.each(
    ofKubernetes.map((document) => [document.kind, document.metadata.name, document] as const),
  )('%s %s fits the schema of the API, with no member that it does not have', async (_kind, _name, document) =>
    expect(await faultsOf(document)).toEqual([]))

  test('holds no file that no overlay lists', () => {
    const files = globSync('deploy/kubernetes/*/*', { cwd: ROOT }).filter(
      (file) => !file.endsWith('kustomization.yaml'),
    )
    expect(files.sort()).toEqual(filesOf('deploy/kubernetes', names).sort())
  })

  test('a document that does not fit, or has an unknown member, is refused', async () => {
    const job = ofKubernetes.find(isOf('Job'))!
    expect(await faultsOf({ ...job, spec: { ...job.spec, backoffLimit: 'three' } })).toEqual([
      expect.stringContaining('backoffLimit'),
    ])
    expect(await faultsOf({ ...job, spec: { ...job.spec, backOffLimit: 3 } })).toEqual(['spec.backOffLimit is unknown'])
  })

  test.each(Object.entries(OVERLAYS))('%s gives Parley settings that it knows and takes', (overlay, expected) => {
    const documents = resourcesOf('deploy/kubernetes', [overlay])
    const roles = documents.filter(isOf('Deployment')).map((deployment) => {
      const env = settingsOf(deployment, documents)
      expect(Object.keys(env).filter((name) => !SETTINGS.has(name))).toEqual([])
      const { role, migrate } = readConfig({ ...dockerEnv(), ...env })
      return { role, migrate }
    })
    expect(roles).toEqual(expected)
  })

  test.each(Object.keys(OVERLAYS))('%s: probes, ports, selectors, budgets and delays belong together', (overlay) => {
    const documents = resourcesOf('deploy/kubernetes', [overlay])
    const deployments = documents.filter(isOf('Deployment'))
    const answering = deployments.filter(({ spec }) => spec.template.metadata.labels.answers === 'yes')
    expect(answering).toHaveLength(1)
    const [service] = documents.filter(isOf('Service'))
    expect(answering[0]!.spec.template.metadata.labels).toMatchObject(service!.spec.selector)
    for (const { spec } of deployments) {
      const { labels } = spec.template.metadata
      expect(labels).toMatchObject(spec.selector.matchLabels)
      const [container] = spec.template.spec.containers
      expect(container.ports[0].containerPort).toBe(Number(dockerEnv().PORT))
      expect(container.livenessProbe.httpGet.path).toBe('/healthz')
      expect(container.startupProbe.httpGet.path).toBe('/readyz')
      expect(Number.parseInt(container.resources.requests.memory, 10)).toBeGreaterThan(290)
      const budgets = documents.filter(isOf('PodDisruptionBudget')).map((one) => one.spec.selector.matchLabels)
      if (spec.replicas > 1) expect(budgets).toContainEqual(spec.selector.matchLabels)
    }
    const probe = answering[0]!.spec.template.spec.containers[0].readinessProbe
    const delay = Number(documents.find(isOf('ConfigMap'))!.data.STOP_DELAY_MS)
    expect(delay).toBeGreaterThanOrEqual(2 * probe.periodSeconds * 1000)
  })

  test('the ingress leads to the service, lets long uploads through, and only it and Prometheus reach the pods', () => {
    const [ingress, policy, service] = ['Ingress', 'NetworkPolicy', 'Service'].map((kind) => all.find(isOf(kind))!)
    const [rule] = ingress!.spec.rules
    expect(rule.http.paths[0].backend.service).toEqual({
      name: service!.metadata.name,
      port: { name: service!.spec.ports[0].name },
    })
    expect(`https://${rule.host}`).toBe(all.find(isOf('ConfigMap'))!.data.BASE_URL)
    expect(ingress!.metadata).toMatchObject({
      annotations: { 'nginx.ingress.kubernetes.io/proxy-request-buffering': 'off' },
    })
    for (const { spec } of all.filter(isOf('Deployment')))
      expect(spec.template.metadata.labels).toMatchObject(policy!.spec.podSelector.matchLabels)
    const monitor = all.find(isOf('PodMonitor'))!
    expect(monitor.spec.selector).toEqual(policy!.spec.podSelector)
    const { name, key } = monitor.spec.podMetricsEndpoints[0].authorization.credentials
    expect(all.find((one) => one.kind === 'Secret' && one.metadata.name === name)!.stringData).toHaveProperty(key)
  })

  test('no proxy address stands for a whole pod network', () => {
    const { trustProxy } = readConfig({ ...dockerEnv(), ...all.find(isOf('ConfigMap'))!.data })
    expect(trustProxy.every((one) => !one.includes('/'))).toBe(true)
  })

  test('the cluster of CloudNativePG has the roles, the passwords and the host that the processes use', () => {
    const cluster = all.find(isOf('Cluster'))!
    const { initdb } = cluster.spec.bootstrap
    const secrets = all.filter(isOf('Secret'))
    const passwordOf = (name: string) => secrets.find(({ metadata }) => metadata.name === name)!.stringData
    for (const [settings, role, secret] of [
      ['parley-owner', initdb.owner, initdb.secret.name],
      ['parley', cluster.spec.managed.roles[0].name, cluster.spec.managed.roles[0].passwordSecret.name],
    ]) {
      const { username, password, hostname, pathname } = new URL(passwordOf(settings).DATABASE_URL)
      expect(passwordOf(secret)).toEqual({ username, password })
      expect([username, hostname, pathname]).toEqual([role, `${cluster.metadata.name}-rw`, `/${initdb.database}`])
    }
    const grants = read('deploy/roles.sql').replaceAll(/\s+/g, ' ')
    for (const statement of initdb.postInitApplicationSQL.slice(1)) expect(grants).toContain(`${statement};`)
    expect(cluster.spec.postgresql.synchronous).toMatchObject({ number: 1, dataDurability: 'required' })
  })

  test.skipIf(!has('kustomize'))('kustomize builds each overlay of the same documents', () => {
    for (const overlay of names) {
      const { status, stdout, stderr } = spawnSync('kustomize', ['build', join(ROOT, 'deploy/kubernetes', overlay)], {
        encoding: 'utf8',
      })
      expect(status, stderr).toBe(0)
      const titles = (documents: Document[]) => documents.map(({ kind, metadata }) => `${kind} ${metadata.name}`).sort()
      const built = parseAllDocuments(stdout).map((document) => document.toJS())
      expect(titles(built)).toEqual(titles(resourcesOf('deploy/kubernetes', [overlay])))
    }
  })
})

/** The documents of kustomizations. */
const resourcesOf = (folder: string, names: readonly string[]): Document[] =>
  filesOf(folder, names).flatMap((file) => parseAllDocuments(read(file)).map((document) => document.toJS()))

/** The files of kustomizations, each once. They only list resources, so this is what `kustomize build` reads. */
function filesOf(folder: string, names: readonly string[]): string[] {
  const files = new Set<string>()
  const add = (path: string): void => {
    const { resources, ...rest } = parse(read(join(path, 'kustomization.yaml')))
    expect(rest).toEqual({ apiVersion: 'kustomize.config.k8s.io/v1beta1', kind: 'Kustomization' })
    for (const resource of resources) {
      const target = join(path, resource)
      if (resource.endsWith('.yaml')) files.add(target)
      else add(target)
    }
  }
  for (const name of names) add(join(folder, name))
  return [...files]
}

/** The environment of a deployment's container: later sources win, and its own list over all. */
function settingsOf(deployment: Document, documents: Document[]): Record<string, string> {
  const [container] = deployment.spec.template.spec.containers
  const sources = container.envFrom.map(({ configMapRef, secretRef }: Record<string, { name: string }>) => {
    const named = (kind: string, name: string | undefined) =>
      documents.find((document) => document.kind === kind && document.metadata.name === name)
    return named('ConfigMap', configMapRef?.name)?.data ?? named('Secret', secretRef?.name)?.stringData ?? expect.fail()
  })
  const own = container.env.map(({ name, value }: { name: string; value: string }) => [name, value])
  return Object.assign({}, ...sources, Object.fromEntries(own))
}

// biome-ignore lint/suspicious/noExplicitAny: what a test reads from a document is what it asserts
type Document = { apiVersion: string; kind: string; metadata: { name: string } } & Record<string, any>
type Validate = { (document: unknown): boolean; errors?: object[] | null }

/** The faults that the schema of the API finds, and members that it ignores and the API would refuse. */
async function faultsOf(document: Document): Promise<string[]> {
  const [version = '', group = 'core'] = document.apiVersion.split('/').reverse()
  const [Group, Version] = [group.replace(/\..*/, ''), version].map(
    (word) => word.charAt(0).toUpperCase() + word.slice(1),
  )
  const file = `node_modules/kubernetes-models/_schemas/IoK8sApi${Group}${Version}${document.kind}.mjs`
  const { validate }: { validate: Validate } = await import(join(ROOT, file))
  const unread = new Map<string, Set<string>>()
  if (!validate(noteReads(document, '', unread))) return (validate.errors ?? []).map((error) => JSON.stringify(error))
  return [...unread].flatMap(([path, names]) => [...names].map((name) => `${path}${name} is unknown`))
}

/** The same value, which notes the members that are never read. */
function noteReads(value: unknown, path: string, unread: Map<string, Set<string>>): unknown {
  if (typeof value !== 'object' || value === null) return value
  const members = Object.entries(value).map(([name, member]) => [name, noteReads(member, `${path}${name}.`, unread)])
  const copy: object = Array.isArray(value) ? members.map(([, member]) => member) : Object.fromEntries(members)
  const names = new Set(Object.keys(value))
  unread.set(path, names)
  return new Proxy(copy, {
    get(target, name) {
      if (typeof name === 'string') names.delete(name)
      return Reflect.get(target, name)
    },
  })
}
