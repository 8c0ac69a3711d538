import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { until } from '../faults/wait.ts'
import { freePort } from '../free-port.ts'
import { temporaryFolder } from '../temporary-folder.ts'
import { read } from './deploy-files.ts'

/** `address` leads to the HTTPS server of deploy/nginx.conf, `plainAddress` to the one on port 80. */
export type Front = { address: string; plainAddress: string; stop(): Promise<void> }

export type FrontOptions = {
  /** For `localhost`, both in PEM. Absent: the HTTPS server listens without TLS, for clients that trust no certificate. */
  certificate?: { cert: string; key: string }
  /** Changes the text of deploy/nginx.conf. */
  change?: (conf: string) => string
}

/** The settings of processes behind it. */
export const BEHIND_NGINX = { TRUST_PROXY: '127.0.0.1' }

/** Starts nginx with deploy/nginx.conf in front of some processes, and with what docs/deploy.md sets in /etc/nginx/nginx.conf. */
export async function startNginx(
  addresses: readonly string[],
  { certificate, change = (conf) => conf }: FrontOptions = {},
): Promise<Front> {
  const folder = mkdtempSync(join(temporaryFolder(), 'parley-nginx-'))
  const [port, plainPort] = [await freePort(), await freePort()]
  const upstream = addresses.map((address) => `server ${new URL(address).host} max_fails=0;`).join('\n    ')
  const servers = change(read('deploy/nginx.conf'))
    .replace('server 127.0.0.1:3000;', upstream)
    .replace('listen 80;', `listen 127.0.0.1:${plainPort};`)
    .replace('listen 443 ssl;', `listen 127.0.0.1:${port}${certificate ? ' ssl' : ''};`)
    .replaceAll('api.example.com;', 'localhost;')
    .replace(/ssl_certificate .*;/, 'ssl_certificate cert.pem;')
    .replace(/ssl_certificate_key .*;/, 'ssl_certificate_key key.pem;')
  if (certificate) {
    writeFileSync(join(folder, 'cert.pem'), certificate.cert)
    writeFileSync(join(folder, 'key.pem'), certificate.key)
  }
  const conf = join(folder, 'nginx.conf')
  writeFileSync(conf, mainConf(folder, certificate ? servers : withoutTls(servers)))
  const options = ['-p', folder, '-c', conf, '-e', join(folder, 'error.log')]
  execFileSync('nginx', [...options, '-t'], { stdio: 'pipe' })
  const nginx = spawn('nginx', [...options, '-g', 'daemon off;'], { stdio: 'ignore' })
  // After SIGKILL its workers would stay.
  const kill = () => void nginx.kill('SIGTERM')
  process.once('exit', kill)
  const plainAddress = `http://localhost:${plainPort}`
  await until('nginx answers', async () => (await fetch(plainAddress)).status === 403)
  return {
    address: certificate ? `https://localhost:${port}` : `http://127.0.0.1:${port}`,
    plainAddress,
    stop: async () => {
      process.off('exit', kill)
      const exited = once(nginx, 'exit')
      nginx.kill('SIGTERM')
      await exited
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

const withoutTls = (servers: string): string =>
  servers.replaceAll(/^ *ssl_.*$/gm, '').replace('X-Forwarded-Proto $scheme', 'X-Forwarded-Proto https')

function mainConf(folder: string, servers: string): string {
  const user = process.getuid?.() === 0 ? 'user root;' : ''
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (name) => `${name}_temp_path ${folder}/${name};`,
  )
  return [
    user,
    `pid ${folder}/pid;`,
    'worker_processes auto;',
    'worker_rlimit_nofile 16384;',
    'events { worker_connections 8192; }',
    'http {',
    ...temporary,
    'access_log off;',
    servers,
    '}\n',
  ].join('\n')
}
