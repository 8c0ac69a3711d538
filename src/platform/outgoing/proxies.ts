import { Agent, type Dispatcher, EnvHttpProxyAgent } from 'undici'

/** Read as in curl; `except` is a comma-separated host list. */
export type Proxies = {
  readonly http: string | undefined
  readonly https: string | undefined
  readonly except: string
}

export const NO_PROXIES: Proxies = { http: undefined, https: undefined, except: '' }

/** The service's own traffic, such as the sandbox's, must not leave the machine. */
const LOOPBACK = 'localhost,127.0.0.1,::1'

type AgentOptions = Omit<Agent.Options, 'connect'> & {
  connect: NonNullable<Agent.Options['connect']>
  /** Includes connecting to and through the proxy. */
  connectTimeoutMs: number
  ca?: string
}

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

export const toProxyEnv = ({ http, https, except }: Proxies): Record<string, string | undefined> => ({
  HTTP_PROXY: http,
  HTTPS_PROXY: https ?? http,
  NO_PROXY: `${LOOPBACK},${except}`,
})
