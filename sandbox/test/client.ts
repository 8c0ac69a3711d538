import { request } from 'undici'
import type { Sandbox } from '../sandbox.ts'

export const NUMBER = '100000000000001'
export const SECOND_NUMBER = '100000000000002'
export const ACCOUNT = '200000000000001'

// biome-ignore lint/suspicious/noExplicitAny: tests look into bodies of every shape
export type Reply = { status: number; body: any; text: string; headers: Record<string, unknown> }

/** One call with JSON in and out; `bearer` null leaves the header away. */
export async function call(
  sandbox: Sandbox,
  method: 'GET' | 'POST' | 'PUT',
  path: string,
  body?: unknown,
  bearer: string | null = 'token',
): Promise<Reply> {
  const answer = await request(path.startsWith('http') ? path : `${sandbox.url}${path}`, {
    method,
    headers: {
      'content-type': 'application/json',
      ...(bearer !== null && { authorization: `Bearer ${bearer}` }),
    },
    ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  })
  const text = await answer.body.text()
  const isJson = String(answer.headers['content-type']).includes('json')
  return { status: answer.statusCode, body: isJson ? JSON.parse(text) : undefined, text, headers: answer.headers }
}

export const textTo = (to: string, others = {}) => ({
  messaging_product: 'whatsapp',
  to,
  type: 'text',
  text: { body: 'Ciao' },
  ...others,
})

export const templateTo = (to: string, name: string, components?: unknown[], code = 'en_US') => ({
  messaging_product: 'whatsapp',
  to,
  type: 'template',
  template: { name, language: { code }, ...(components && { components }) },
})

/** `texts` as a component's parameters. */
export const texts = (...values: string[]) => values.map((text) => ({ type: 'text', text }))

export const send = (sandbox: Sandbox, body: unknown, number = NUMBER): Promise<Reply> =>
  call(sandbox, 'POST', `/v25.0/${number}/messages`, body)
