import type { Page, Route } from 'playwright-core'

/** Answers a request as the service does, with other data. */
export const changing =
  <Data>(change: (data: Data) => unknown) =>
  async (route: Route): Promise<void> => {
    const response = await route.fetch({ headers: { ...route.request().headers(), 'sec-fetch-site': 'same-origin' } })
    const { data, ...rest } = await response.json()
    await route.fulfill({ response, json: { ...rest, data: change(data) } })
  }

/** What the service answers when it refuses, fails or has too much to do. */
const REFUSALS = {
  failed: [400, { code: 'bad_request', message: 'The service could not read this part.' }],
  broken: [500, {}],
  forbidden: [403, { code: 'forbidden', message: 'The session needs the permission WhatsApp' }],
  busy: [429, {}],
} as const
export type Refusal = keyof typeof REFUSALS

/** Refuses each request for data of a company and of the installation. */
export async function refuse(page: Page, refusal: Refusal): Promise<void> {
  const [status, error] = REFUSALS[refusal]
  await eachRead(page, (route) =>
    route.fulfill({ status, headers: { 'retry-after': '9', 'x-request-id': 'req_5f1c2a7e90b34d18' }, json: { error } }),
  )
}

/** Holds the answers until the result is called. */
export async function hold(page: Page): Promise<() => void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  await eachRead(page, async (route) => {
    await promise
    await route.continue()
  })
  return resolve
}

/** All but the stream and the session, without which there is no page. */
const eachRead = (page: Page, handle: (route: Route) => Promise<void>): Promise<unknown> =>
  page.route(/\/console\/api\/(?!session$|public\/v1\/events|as\/\d+\/public\/v1\/events)/, handle)
