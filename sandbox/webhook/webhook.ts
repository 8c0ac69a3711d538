import { Agent } from 'undici'
import type { NumberWebhook } from '../world/account.ts'
import { providerJson, signatureOf } from './provider-json.ts'

/** Where the service takes its events, and the secret they are signed with, if any. */
export type WebhookTarget = { url?: string | undefined; appSecret?: string | undefined }

/** The outcome of posting an event. An unreachable service is a value, not an exception. */
export type Posted = { delivered: boolean; statusCode: number | null; reason?: string }

/** The provider's end of the webhook. */
export type Webhook = {
  target: WebhookTarget
  /** Posts a value as the provider writes it, signed when there is a secret; to the number's own webhook where it has one. */
  post(value: unknown, own?: NumberWebhook): Promise<Posted>
  /** Posts exactly these bytes; signed like the rest unless a signature is among the headers. */
  postBytes(body: Buffer, headers?: Record<string, string>, ownUrl?: string): Promise<Posted>
  close(): Promise<void>
}

const TIMEOUT_MS = 20_000
const SIGNATURE = 'x-hub-signature-256'

/** Posts events to the target, signed with the app secret when it has one. Connections are kept. */
export function createWebhook(target: WebhookTarget): Webhook {
  const agent = new Agent({ connections: 64, keepAliveTimeout: 30_000, connect: { timeout: 5_000 } })
  const webhook: Webhook = {
    target,
    post: (value, own) => webhook.postBytes(Buffer.from(providerJson(value)), own?.headers, own?.url),
    postBytes: (body, headers = {}, ownUrl) => {
      const { appSecret } = webhook.target
      const url = ownUrl ?? webhook.target.url
      if (url === undefined) {
        return Promise.resolve({ delivered: false, statusCode: null, reason: 'no webhook address is set' })
      }
      return deliver(agent, url, body, { ...signed(body, appSecret), ...headers })
    },
    close: () => agent.destroy(),
  }
  return webhook
}

function signed(body: Buffer, appSecret: string | undefined): Record<string, string> {
  const headers = { 'content-type': 'application/json', 'user-agent': 'facebookexternalua' }
  return appSecret === undefined ? headers : { ...headers, [SIGNATURE]: signatureOf(body, appSecret) }
}

async function deliver(agent: Agent, url: string, body: Buffer, headers: Record<string, string>): Promise<Posted> {
  try {
    const { origin, pathname, search } = new URL(url)
    const answer = await agent.request({
      origin,
      path: `${pathname}${search}`,
      method: 'POST',
      headers,
      body,
      headersTimeout: TIMEOUT_MS,
      bodyTimeout: TIMEOUT_MS,
    })
    await answer.body.dump()
    const { statusCode } = answer
    if (statusCode >= 200 && statusCode < 300) return { delivered: true, statusCode }
    return { delivered: false, statusCode, reason: `the service answered ${statusCode}` }
  } catch (error) {
    return { delivered: false, statusCode: null, reason: error instanceof Error ? error.message : String(error) }
  }
}
