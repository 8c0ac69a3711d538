import { afterAll } from 'vitest'
import { createTestDatabase } from './database.ts'
import { createOperatorApi, operatorDeps } from './operator-deps.ts'

export const fieldsOf = (body: { error: { details: { fields: { path: string }[] } } }) =>
  body.error.details.fields.map((field) => field.path)

/** Of a new company. */
export const NEW = { sessionRateLimitPerMinute: 3_000, agentsMayErase: false }

/** The routes of operators, with companies and numbers. */
export async function startOperator() {
  const { db } = await createTestDatabase({ mirrors: true })
  const deps = operatorDeps(db)
  const { call, close } = await createOperatorApi(db, deps)
  let count = 0
  afterAll(close)
  const newCompany = async (): Promise<number> => (await call('POST', '/companies', { name: 'Acme' })).body.id
  const number = (input: object = {}) => {
    count += 1
    return {
      provider: 'meta',
      phoneNumber: `+1 555 ${1_000_000 + count}`,
      phoneName: 'Acme',
      phoneNumberId: `route-${count}`,
      wabaAccountId: 'waba-1',
      accessToken: 'EAAverysecret',
      appSecret: 'appsecretvalue',
      ...input,
    }
  }
  const newSender = async (companyId: number, input: object = {}) =>
    (await call('POST', `/companies/${companyId}/senders`, number(input))).body
  return { db, deps, call, newCompany, number, newSender }
}
