import { randomInt, randomUUID } from 'node:crypto'
import { expect } from 'vitest'
import type { Config } from '../../src/platform/settings/config.ts'
import type { ProviderName } from '../../src/providers/provider-name.ts'
import { startTestService } from '../service.ts'

export const SEND = '/templates/whatsapp/send'
const TEMPLATES = [
  { name: 'parcel_left', category: 'UTILITY', components: [{ type: 'BODY', text: 'Your parcel has left.' }] },
  { name: 'order', category: 'UTILITY', components: [{ type: 'BODY', text: 'Order {{1}} for {{2}}' }] },
  {
    name: 'news',
    category: 'MARKETING',
    parameter_format: 'NAMED',
    components: [{ type: 'BODY', text: 'Hi {{name}}' }],
  },
]

const digits = (count: number): string => String(randomInt(10 ** (count - 1), 10 ** count))

/** The service with its sandbox, and numbers at each provider. Call it at the top of a file. */
export async function startTransports(config: Partial<Config> = {}) {
  const own = { providerTimeoutMs: 6_000, baseUrl: 'https://api.example.com' }
  const service = await startTestService({ config: { ...own, ...config } })

  /** A number of its own at the provider, with an account and templates of its own. */
  async function numberAt(provider: ProviderName, input: object = {}) {
    const phoneNumberId = `4${digits(12)}`
    const wabaAccountId = `5${digits(12)}`
    const app = { id: randomUUID(), name: `App${digits(8)}` }
    const displayPhoneNumber = `+39 ${digits(10)}`
    await service.control('POST', '/numbers', {
      phoneNumberId,
      displayPhoneNumber,
      verifiedName: 'Acme at its provider',
      wabaAccountId,
      ...(provider === 'gupshup' && { app }),
      ...input,
    })
    for (const template of TEMPLATES) {
      await service.control('POST', '/templates', { wabaAccountId, language: 'it', ...template })
    }
    const { url } = service.sandbox
    const bases = {
      meta: url,
      dialog360: `${url}/dialog360`,
      gupshup: `${url}/gupshup/partner/app/${app.id}`,
    }
    return {
      phoneNumberId,
      wabaAccountId,
      displayPhoneNumber,
      app,
      body: {
        provider,
        phoneNumberId,
        wabaAccountId,
        accessToken: `credential-${phoneNumberId}`,
        apiBaseUrl: bases[provider],
        ...(provider === 'gupshup' && { appName: app.name }),
      },
    }
  }

  async function connected(provider: ProviderName, input: object = {}) {
    const number = await numberAt(provider)
    const company = await service.createCompany({ isConnected: false })
    const path = `/companies/${company.companyId}/senders`
    const answer = await service.operator('POST', path, { ...number.body, ...input })
    expect([answer.status, answer.body.error]).toEqual([201, undefined])
    return { ...company, ...number, sender: answer.body, path }
  }
  return { service, numberAt, connected }
}
