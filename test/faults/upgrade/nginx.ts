import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { read } from '../../deploy/deploy-files.ts'
import { freePort } from '../../free-port.ts'
import { temporaryFolder } from '../../temporary-folder.ts'
import { until } from '../wait.ts'

export type Front = { address: string; stop(): Promise<void> }

/** The settings of processes behind it. */
export const BEHIND_NGINX = { TRUST_PROXY: '127.0.0.1' }

/** Starts nginx with deploy/nginx.conf before several processes, but without TLS: the clients of a run have no certificate. */
export async function startNginx(addresses: readonly string[]): Promise<Front> {
  const folder = mkdtempSync(join(temporaryFolder(), 'parley-nginx-'))
  const port = await freePort()
  const upstream = addresses.map((address) => `server ${new URL(address).host} max_fails=0;`).join('\n    ')
  const [plain = '', tls = ''] = read('deploy/nginx.conf').split(/(?=^server \{\n {4}listen 443 ssl;)/m)
  const servers = `${plain.slice(0, plain.indexOf('server {'))}${tls}`
    .replace('server 127.0.0.1:3000;', upstream)
    .replace('listen 443 ssl;', `listen 127.0.0.1:${port};`)
    .replaceAll(/^ *(ssl_|server_name ).*$/gm, '')
    .replace('X-Forwarded-Proto $scheme', 'X-Forwarded-Proto https')
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (name) => `${name}_temp_path ${folder}/${name};`,
  )
  const user = process.getuid?.() === 0 ? 'user root;\n' : ''
  const conf = join(folder, 'nginx.conf')
  writeFileSync(
    conf,
    `${user}pid ${folder}/pid;\nevents {}\nhttp {\n${temporary.join('\n')}\naccess_log off;\n${servers}\n}\n`,
  )
  const options = ['-p', folder, '-c', conf, '-e', join(folder, 'error.log')]
  execFileSync('nginx', [...options, '-t'], { stdio: 'pipe' })
  const nginx = spawn('nginx', [...options, '-g', 'daemon off;'], { stdio: 'ignore' })
  process.once('exit', () => nginx.kill('SIGKILL'))
  const address = `http://127.0.0.1:${port}`
  await until('nginx answers', async () => (await fetch(`${address}/healthz`).catch(() => undefined))?.status === 200)
  return {
    address,
    stop: async () => {
      const exited = once(nginx, 'exit')
      nginx.kill('SIGTERM')
      await exited
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
