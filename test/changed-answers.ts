import type { Page, Route } from 'playwright-core'

const MODIFIED = '**/console/api/public/v1/**'

/** Answers a request as the service does, with other data. */
export const changing =
  <Data>(change: (data: Data) => unknown) =>
  async (route: Route): Promise<void> => {
    const response = await route.fetch({ headers: { ...route.request().headers(), 'sec-fetch-site': 'same-origin' } })
    const { data, ...rest } = await response.json()
    await route.fulfill({ response, json: { ...rest, data: change(data) } })
  }

/** Acts while requests for conversations, registrations and messages are handled by the given function. */
export async function answering(
  page: Page,
  handle: (route: Route) => unknown,
  act: () => Promise<void>,
): Promise<void> {
  const isOther = (url: string) => !/\/(conversations|registrations|messages|contacts)\b/.test(url)
  const answer = (route: Route) => (isOther(route.request().url()) ? route.continue() : handle(route))
  await page.route(MODIFIED, answer)
  await act()
  await page.unroute(MODIFIED, answer)
}
