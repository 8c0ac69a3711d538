import { expect } from 'vitest'
import { eventually, startTestService, type TestService } from '../service.ts'

export type Company = Awaited<ReturnType<TestService['createCompany']>>

/** The service, companies without a number, and their imports. Call it at the top of a file. */
export async function startImports() {
  const service = await startTestService({ mirrors: true })
  const newCompany = () => service.createCompany({ isConnected: false })

  const bring = (company: Company, body: string | Uint8Array, type = 'text/csv') =>
    fetch(`${service.url}/public/v1/contacts/import`, {
      method: 'POST',
      headers: { authorization: `Bearer ${company.key.token}`, 'content-type': type },
      body: body as string,
    }).then(async (response) => ({ status: response.status, body: JSON.parse(await response.text()) }))

  async function importList(company: Company, body: string | Uint8Array, type?: string) {
    const taken = await bring(company, body, type)
    expect([taken.status, taken.body]).toEqual([202, taken.body])
    return eventually(async () => {
      const { body: progress } = await company.api('GET', `/contacts/imports/${taken.body.data.id}`)
      return progress.data.ended_at !== null && progress.data
    }, 300_000)
  }
  return { service, newCompany, bring, importList }
}

export const listOf = async (company: Company) =>
  (await company.api('GET', '/contacts?limit=100&sort=created_at')).body.data as Record<string, unknown>[]
