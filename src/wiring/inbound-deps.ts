import { clientAddress, trustedProxies } from '../http/admission/rules.ts'
import { createAccept } from '../inbound/ingest/accept.ts'
import {
  createLockedCheck,
  createRefusalCount,
  createSignatureCheck,
  createUnhandledBudget,
} from '../inbound/ingest/admission.ts'
import type { InboundRoutesDeps } from '../inbound/ingest/inbound-routes.ts'
import { messageOf } from '../platform/start-error.ts'
import type { Deps } from './deps.ts'
import { bodyReader } from './events/body-reader.ts'
import { eventReader } from './events/event-reader.ts'
import type { Workers } from './workers.ts'

/** Builds the provider webhook's dependencies. Without workers in this process, events are only stored. */
export function createInboundDeps(deps: Deps, workers: Pick<Workers, 'takeEvents'> | undefined): InboundRoutesDeps {
  const isTrusted = trustedProxies(deps.config.trustProxy)
  return {
    verifyToken: deps.config.whatsappVerifyToken,
    accept: createAccept(deps.db, eventReader, workers?.takeEvents),
    addressOf: (request) => clientAddress(request, isTrusted),
    refusedFor: createUnhandledBudget(deps.db),
    checkSignature: createSignatureCheck(deps.senderSecrets, bodyReader),
    onRefused: createRefusalCount(deps.db, (error) =>
      deps.log.warn({ reason: messageOf(error) }, 'refusals.not_counted'),
    ),
    signatureOf: eventReader.signatureOf,
    isForLocked: createLockedCheck(deps.pool, eventReader),
  }
}
