import { messageOf } from '../platform/start-error.ts'
import type { SenderRecord } from '../senders/sender.ts'
import { connectSender, type NewSender } from '../senders/sender-admin.ts'
import type { OperatorDeps } from './operator.ts'

/** Connects a number and reports each check in one line; a check that could not run includes the provider's message. */
export async function connectWithChecks(
  deps: OperatorDeps,
  companyId: number,
  input: NewSender,
): Promise<{ connected: SenderRecord; checks: string[] }> {
  let unchecked: string | undefined
  let templates = 'templates: not read'
  const connected = await connectSender(
    {
      ...deps,
      onUnchecked: (reason) => {
        unchecked = reason
      },
      afterSenderConnected: async () => {
        deps.onEventsStored()
        templates = await deps.syncTemplates(companyId).then(
          (count) => `templates: ${count} read from the provider`,
          (error) => `templates: not read (${messageOf(error)}); they come with the next hourly sync`,
        )
      },
    },
    companyId,
    input,
  )
  return {
    connected,
    checks: [
      unchecked === undefined
        ? `credential: accepted by ${connected.provider}`
        : `credential: NOT CHECKED, ${connected.provider} could not be reached (${unchecked}). The number is connected without checks; give the credential again with parley sender update to check it`,
      `number: ${connected.phoneNumber}, ${connected.phoneName}${input.phoneNumber ? ' (as given)' : ' (from the provider)'}`,
      templates,
      input.appSecret || input.webhookSecret
        ? 'events: only those that prove the secret are taken'
        : 'events: NOT SIGNED, anyone who knows the address can post them; give --app-secret or --webhook-secret',
      ...checkOfToken(deps.webhookGuide(connected).verifyToken),
    ],
  }
}

function checkOfToken(token: string | null | undefined): string[] {
  if (token === undefined) return []
  return token === null
    ? ['verify token: NOT SET, the provider cannot register the webhook; set WHATSAPP_VERIFY_TOKEN and restart']
    : ['verify token: set']
}
