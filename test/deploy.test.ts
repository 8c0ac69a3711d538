import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { globSync, readFileSync, writeFileSync } from 'node:fs'
import { request } from 'node:https'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { parse, parseAllDocuments } from 'yaml'
import { freePort } from '../bench/free-port.ts'
import { readConfig } from '../src/config.ts'
import { createToken } from '../src/emails/tracking/tracking-token.ts'
import { createCertificate } from './certificate.ts'
import { createTestDatabase } from './database.ts'
import { dataFolder, type ParleyProcess, runParley, until } from './parley-process.ts'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const read = (file: string) => readFileSync(join(ROOT, file), 'utf8')
const has = (program: string) => spawnSync('sh', ['-c', `command -v ${program}`]).status === 0
/** Every setting that src/config.ts reads. */
const SETTINGS = new Set(read('src/config.ts').match(/(?<=')[A-Z][A-Z_]{3,}(?=')/g))

type Answer = { status: number; body: string; headers: Record<string, unknown> }

/** A request over TLS whose certificate is not checked. */
const open = (port: number, path: string, headers: Record<string, string>, method: string) =>
  request({
    host: '127.0.0.1',
    port,
    path,
    method,
    headers: { host: 'localhost', ...headers },
    rejectUnauthorized: false,
    servername: 'localhost',
  })

function get(
  port: number,
  path: string,
  headers: Record<string, string> = {},
  body?: Buffer | string,
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const call = open(port, path, headers, body === undefined ? 'GET' : 'POST')
    call.once('error', reject)
    call.once('response', (response) => {
      let text = ''
      response.on('data', (chunk) => (text += chunk))
      response.once('end', () => resolve({ status: response.statusCode ?? 0, body: text, headers: response.headers }))
    })
    call.end(body)
  })
}

const ADMIN_TOKEN = 'operator-token-for-tests-0123456789'
const database = await createTestDatabase()
const cleanups: (() => void)[] = []

describe('proxies', () => {
  let parley: ParleyProcess

  beforeAll(async () => {
    parley = await runParley(
      {
        DATABASE_URL: database.url,
        ADMIN_TOKEN,
        ENCRYPTION_KEY: Buffer.alloc(32).toString('base64'),
        TRUST_PROXY: '127.0.0.1',
        BASE_URL: 'https://localhost',
      },
      { whenDone: (clean) => cleanups.push(clean) },
    )
    await parley.says('Parley listens on')
    return () => cleanups.forEach((clean) => void clean())
  })

  test.skipIf(!has('nginx'))('deploy/nginx.conf serves Parley over TLS', async () => {
    const folder = dataFolder()
    const [http, https] = [await freePort(), await freePort()]
    const { cert, key } = createCertificate()
    writeFileSync(join(folder, 'cert.pem'), cert)
    writeFileSync(join(folder, 'key.pem'), key)
    const servers = read('deploy/nginx.conf')
      .replace('127.0.0.1:3000', new URL(parley.address).host)
      .replace('listen 80;', `listen 127.0.0.1:${http};`)
      .replace('listen 443 ssl;', `listen 127.0.0.1:${https} ssl;`)
      .replaceAll('api.example.com;', 'localhost;')
      .replace(/ssl_certificate .*;/, 'ssl_certificate cert.pem;')
      .replace(/ssl_certificate_key .*;/, 'ssl_certificate_key key.pem;')
    const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
      (name) => `${name}_temp_path ${folder}/${name};`,
    )
    const conf = join(folder, 'nginx.conf')
    const user = process.getuid?.() === 0 ? 'user root;\n' : ''
    writeFileSync(
      conf,
      `${user}pid ${folder}/pid;\nevents {}\nhttp {\n${temporary.join('\n')}\naccess_log off;\n${servers}\n}\n`,
    )
    const options = ['-p', folder, '-c', conf, '-e', join(folder, 'error.log')]
    execFileSync('nginx', [...options, '-t'], { stdio: 'pipe' })
    const nginx = spawn('nginx', [...options, '-g', 'daemon off;'], { stdio: 'ignore' })
    onTestFinished(() => void nginx.kill('SIGKILL'))
    await expectProxy(http, https)
    nginx.kill('SIGTERM')
  })

  test.skipIf(!has('caddy'))('deploy/Caddyfile serves Parley over TLS', async () => {
    const folder = dataFolder()
    const [http, https] = [await freePort(), await freePort()]
    const options = `{\n\tadmin off\n\tskip_install_trust\n\thttp_port ${http}\n\thttps_port ${https}\n\tlocal_certs\n}\n`
    writeFileSync(join(folder, 'Caddyfile'), options + read('deploy/Caddyfile'))
    const env = {
      PATH: process.env.PATH,
      HOME: folder,
      XDG_DATA_HOME: folder,
      HOST_NAME: 'localhost',
      UPSTREAM: new URL(parley.address).host,
    }
    const caddy = spawn('caddy', ['run', '--config', join(folder, 'Caddyfile')], { env, stdio: 'ignore' })
    onTestFinished(() => void caddy.kill('SIGKILL'))
    await expectProxy(http, https)
  })

  async function expectProxy(http: number, https: number): Promise<void> {
    await until('the proxy answers', () =>
      get(https, '/healthz').then(
        ({ status }) => status === 200,
        () => false,
      ),
    )
    const path = '/public/v1/contacts'
    // Not 403: it came over HTTPS.
    expect(await get(https, path)).toMatchObject({ status: 401 })
    expect((await get(https, '/metrics')).status).toBe(404)
    // /readyz has details for peers without a proxy only.
    expect((await get(https, '/readyz')).body).toBe('{"status":"ok"}')
    const forged = { 'x-forwarded-proto': 'http', 'x-forwarded-for': '203.0.113.9', forwarded: 'for=203.0.113.9' }
    expect((await get(https, path, forged)).status).toBe(401)
    const large = Buffer.alloc(6 * 1024 * 1024, ' ')
    expect((await get(https, path, { 'content-type': 'application/json' }, large)).status).toBe(401)
    const plain = await fetch(`http://localhost:${http}${path}`, { redirect: 'manual' })
    expect([plain.status, plain.headers.get('location')]).toEqual([403, null])
    // Without the proxy the same request is plain HTTP.
    expect((await fetch(`${parley.address}${path}`)).status).toBe(403)
    const company = await createCompanyBehind(https)
    await expectLongAnswers(https, company)
    await expectTracking(https, company.id)
    await expectStream(https, company)
  }

  type Company = { id: number; authorization: string }

  async function createCompanyBehind(port: number): Promise<Company> {
    const operator = async (path: string, body: object) => {
      const headers = { 'content-type': 'application/json', authorization: `Bearer ${ADMIN_TOKEN}` }
      const answer = await get(port, `/admin/v1${path}`, headers, JSON.stringify(body))
      expect(answer.status).toBe(201)
      return JSON.parse(answer.body)
    }
    const { id } = await operator('/companies', { name: 'Acme', rateLimitPerMinute: 100_000 })
    const key = await operator(`/companies/${id}/api-keys`, {
      name: 'Shop',
      permissions: ['WhatsApp', 'Transactional'],
    })
    return { id, authorization: `Bearer ${key.token}` }
  }

  /** An upload of 2 MB, and an answer of the same size. */
  async function expectLongAnswers(port: number, { authorization }: Company): Promise<void> {
    const rows = Array.from({ length: 20_000 }, (_, n) => `${n}@example.com,${'x'.repeat(80)}\n`)
    const list = `email,first_name\n${rows.join('')}`
    const imports = '/public/v1/contacts/import'
    const headers = { authorization, 'content-type': 'text/csv' }
    const taken = JSON.parse((await get(port, imports, headers, list)).body)
    await until(
      'the list is imported',
      async () => {
        const { body } = await get(port, `/public/v1/contacts/imports/${taken.data.id}`, { authorization })
        return JSON.parse(body).data.status === 'completed'
      },
      60_000,
    )
    const exported = await get(port, '/public/v1/contacts/export', { authorization, accept: 'text/csv' })
    expect([exported.status, exported.body.match(/@example\.com/g)?.length]).toEqual([200, 20_000])
  }

  /** The pixel and a link of a mail, whose target the proxy does not change. */
  async function expectTracking(port: number, companyId: number): Promise<void> {
    const secret = randomBytes(32)
    const target = 'https://shop.example/orders?x=1&y=2'
    const [email] = await database.db<{ id: number }[]>`
      insert into emails (company_id, uid, recipient, subject, message_id, secret, is_marketing, status, completed_at)
      values (${companyId}, ${`eml_${companyId}`}, 'a@example.com', 'S', 'm', ${secret}, false, 'sent', now())
      returning id
    `
    const { id } = email!
    await database.db`insert into email_links (company_id, email_id, targets) values (${companyId}, ${id}, ${[target]})`
    const token = (use: 'open' | 'click', link: number) => createToken({ companyId, id, secret }, use, link)
    const pixel = await get(port, `/public/v1/o/${token('open', 0)}`)
    expect([pixel.status, pixel.headers['content-type']]).toEqual([200, 'image/gif'])
    const click = await get(port, `/public/v1/c/${token('click', 1)}`)
    expect([click.status, click.headers.location]).toEqual([302, target])
    const [counts] = await database.db`select open_count, click_count from emails where company_id = ${companyId}`
    expect(counts).toEqual({ openCount: 1, clickCount: 1 })
  }

  /** The live stream brings its first event and a change at once, not when a buffer of the proxy is full. */
  async function expectStream(port: number, { authorization }: Company): Promise<void> {
    const call = open(port, '/public/v1/events', { authorization, accept: 'text/event-stream' }, 'GET')
    onTestFinished(() => void call.destroy())
    call.on('error', () => {})
    let text = ''
    call.once('response', (response) => {
      response.on('error', () => {})
      response.on('data', (chunk) => (text += chunk))
    })
    call.end()
    await until('the stream is open', async () => text.includes('event: ready'), 10_000)
    const headers = { authorization, 'content-type': 'application/json' }
    await get(port, '/public/v1/contacts', headers, JSON.stringify({ email: 'live@example.com' }))
    await until('the stream brings the contact', async () => text.includes('event: contact'), 10_000)
  }
})

test.skipIf(!has('systemd-analyze'))('deploy/parley.service is valid and closed', () => {
  const unit = join(ROOT, 'deploy/parley.service')
  const verified = spawnSync('systemd-analyze', ['verify', '--man=no', unit], { encoding: 'utf8' })
  expect(verified.stderr.split('\n').filter((line) => line.includes('parley.service'))).toEqual([])
  const rated = spawnSync('systemd-analyze', ['security', '--offline=true', '--threshold=20', unit], {
    encoding: 'utf8',
  })
  expect(rated.status, rated.stdout).toBe(0)
})

test('the settings of deploy/parley.service are those of Parley', () => {
  const names = /^Environment=(.*)$/m.exec(read('deploy/parley.service'))?.[1]?.match(/\w+(?==)/g) ?? []
  expect(names.filter((name) => !SETTINGS.has(name))).toEqual(['NODE_ENV', 'NODE_COMPILE_CACHE'])
})

describe('compose.yaml', () => {
  const file = parse(read('compose.yaml'))
  const variables: Record<string, string> = {
    HOST_NAME: 'api.example.com',
    POSTGRES_PASSWORD: 'secret',
    ENCRYPTION_KEY: Buffer.alloc(32).toString('base64'),
    ADMIN_TOKEN: 'a'.repeat(64),
  }
  const fill = (value: string) => value.replaceAll(/\$\{(\w+)(?::\?|:-)?\}/g, (_, name) => variables[name] ?? '')
  const envOf = (service: string) =>
    Object.fromEntries(
      Object.entries<string>(file.services[service].environment).map(([name, value]) => [name, fill(value)]),
    )

  test('gives Parley valid settings that let requests of the proxy in', () => {
    const env = envOf('parley')
    expect(Object.keys(env).filter((name) => !SETTINGS.has(name))).toEqual([])
    const config = readConfig({ ...env, ...dockerEnv() })
    expect(config).toMatchObject({
      host: '0.0.0.0',
      plainHttp: 'reject',
      baseUrl: 'https://api.example.com',
      sandbox: false,
    })
    expect(config.trustProxy).toEqual([file.networks.default.ipam.config[0].subnet])
  })

  test('closes its container and mounts files that are there', () => {
    expect(file.services.parley).toMatchObject({
      read_only: true,
      cap_drop: ['ALL'],
      security_opt: ['no-new-privileges:true'],
    })
    const mounts = Object.values<{ volumes: string[] }>(file.services).flatMap(({ volumes }) =>
      volumes.map((one) => one.split(':')[0] ?? ''),
    )
    for (const mount of mounts) {
      if (mount.startsWith('./')) expect(read(mount).length).toBeGreaterThan(0)
      else expect(Object.keys(file.volumes)).toContain(mount)
    }
    expect(envOf('proxy').UPSTREAM).toBe(`parley:${dockerEnv().PORT}`)
  })
})

/** The settings of the image. */
function dockerEnv(): Record<string, string> {
  const line = /^ENV (.*)$/m.exec(read('Dockerfile'))?.[1] ?? ''
  return Object.fromEntries(line.split(' ').map((pair) => pair.split('=') as [string, string]))
}

/** The overlays, each by the settings that its processes get beside the common ones. */
const OVERLAYS = {
  'one-node': { role: 'all', migrate: true },
  'api-and-workers': { role: 'api', migrate: false },
} as const

describe('deploy/kubernetes/', () => {
  const isOf = (kind: string) => (document: Document) => document.kind === kind
  const names = ['migrate', 'one-node', 'api-and-workers', 'cloudnative-pg']
  const all = resourcesOf('deploy/kubernetes', names)
  const ofKubernetes = all.filter(({ apiVersion }) => !apiVersion.startsWith('postgresql.cnpg.io/'))

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
    expect(roles[0]).toEqual(expected)
    if (overlay === 'api-and-workers') expect(roles[1]).toEqual({ role: 'worker', migrate: false })
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

/** The files of kustomizations, which only list resources, each once. */
function filesOf(folder: string, names: readonly string[]): string[] {
  const files = new Set<string>()
  const add = (path: string): void => {
    const { resources, ...rest } = parse(read(join(path, 'kustomization.yaml')))
    expect(Object.keys(rest)).toEqual(['apiVersion', 'kind'])
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
  const [Group, Version] = [group, version].map((word) => word.charAt(0).toUpperCase() + word.slice(1))
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

test('deploy/ holds nothing that no test reads', () => {
  const tests = globSync(['{src,test}/**/*.test.ts', 'test/*.ts'], { cwd: ROOT }).map(read).join('\n')
  const files = globSync('deploy/*.*', { cwd: ROOT })
  expect(files.length).toBeGreaterThan(4)
  // A title or an error text that names the file reads nothing.
  const isRead = (file: string) =>
    new RegExp(`(?:read|file|join|URL)\\([^)\n]*${file.replaceAll('.', '\\.')}'`).test(tests)
  expect(files.filter((file) => !isRead(file))).toEqual([])
})
