import { Agent, type Dispatcher, EnvHttpProxyAgent } from 'undici'

/** Outgoing proxies as curl reads them from the environment; `except` lists hosts, separated by commas. */
export type Proxies = {
  readonly http: string | undefined
  readonly https: string | undefined
  readonly except: string
}

export const NO_PROXIES: Proxies = { http: undefined, https: undefined, except: '' }

/** The service's own traffic, such as the sandbox's, never leaves the machine. */
const LOOPBACK = 'localhost,127.0.0.1,::1'

type AgentOptions = Omit<Agent.Options, 'connect'> & {
  connect: NonNullable<Agent.Options['connect']>
  /** Longest that opening a connection may take, also to the proxy and through it. */
  connectTimeoutMs: number
  /** Certificates to trust behind a proxy instead of the system's. */
  ca?: string
}

/** Builds an agent whose calls use the proxies; without a proxy for it, a call connects by `connect`. */
export function createProxiedAgent({ http, https, except }: Proxies, options: AgentOptions): Dispatcher {
  const { connectTimeoutMs, ca, ...direct } = options
  if (http === undefined && https === undefined) return new Agent(direct)
  return new EnvHttpProxyAgent({
    ...direct,
    connectTimeout: connectTimeoutMs,
    ...(ca !== undefined && { requestTls: { ca } }),
    httpProxy: http ?? '',
    httpsProxy: https ?? '',
    noProxy: `${LOOPBACK},${except}`,
  })
}

/** Returns the proxies as Node's own agents read them. */
export const toProxyEnv = ({ http, https, except }: Proxies): Record<string, string | undefined> => ({
  HTTP_PROXY: http,
  HTTPS_PROXY: https ?? http,
  NO_PROXY: `${LOOPBACK},${except}`,
})
