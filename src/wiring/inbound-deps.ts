import { createAccept } from '../inbound/accept.ts'
import { createSignatureCheck } from '../inbound/check-signature.ts'
import type { InboundRoutesDeps } from '../inbound/inbound-routes.ts'
import type { Deps } from './deps.ts'

/** What the provider-facing webhook works with. */
export const createInboundDeps = (deps: Deps): InboundRoutesDeps => ({
  verifyToken: deps.config.whatsappVerifyToken,
  accept: createAccept(deps.db),
  checkSignature: createSignatureCheck(deps.senderSecrets),
  onStored: deps.eventsStored.raise,
})
