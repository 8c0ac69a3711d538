import { changeAccount } from './control/account-control.ts'
import { changeBehaviour, readBehaviour } from './control/behaviour-control.ts'
import type { ControlCall, ControlDeps } from './control/control-deps.ts'
import { identifyCustomer } from './control/customer-control.ts'
import { sendEcho, sendInbound, sendInboundBatch } from './control/inbound-control.ts'
import { listEmails } from './control/mail-control.ts'
import { listMessages, listReceipts, sendStatus } from './control/message-control.ts'
import { listAllNumbers, registerNumber } from './control/number-control.ts'
import { sendRaw, setWebhook } from './control/raw-control.ts'
import { changeReceiver, listReceiverRequests } from './control/receiver-control.ts'
import { addTemplate, changeTemplateStatus, listAllTemplates } from './control/template-control.ts'

export type ControlRoute = {
  method: string
  path: string
  answer: (deps: ControlDeps, call: ControlCall) => unknown
}

/** Everything that the control address can do. */
export const CONTROL_ROUTES: ControlRoute[] = [
  { method: 'GET', path: '/sandbox/messages', answer: listMessages },
  { method: 'GET', path: '/sandbox/receipts', answer: listReceipts },
  { method: 'GET', path: '/sandbox/emails', answer: listEmails },
  { method: 'POST', path: '/sandbox/status', answer: sendStatus },
  { method: 'POST', path: '/sandbox/inbound', answer: sendInbound },
  { method: 'POST', path: '/sandbox/inbound/batch', answer: sendInboundBatch },
  { method: 'POST', path: '/sandbox/echo', answer: sendEcho },
  { method: 'POST', path: '/sandbox/raw', answer: sendRaw },
  { method: 'PUT', path: '/sandbox/webhook', answer: setWebhook },
  { method: 'GET', path: '/sandbox/templates', answer: listAllTemplates },
  { method: 'POST', path: '/sandbox/templates', answer: addTemplate },
  { method: 'POST', path: '/sandbox/templates/:id/status', answer: changeTemplateStatus },
  { method: 'GET', path: '/sandbox/numbers', answer: listAllNumbers },
  { method: 'POST', path: '/sandbox/numbers', answer: registerNumber },
  { method: 'PUT', path: '/sandbox/accounts/:id', answer: changeAccount },
  { method: 'POST', path: '/sandbox/customers', answer: identifyCustomer },
  { method: 'GET', path: '/sandbox/behaviour', answer: readBehaviour },
  { method: 'PUT', path: '/sandbox/behaviour', answer: changeBehaviour },
  { method: 'PUT', path: '/sandbox/receivers/:name/behaviour', answer: changeReceiver },
  { method: 'GET', path: '/sandbox/receivers/:name/requests', answer: listReceiverRequests },
  {
    method: 'POST',
    path: '/sandbox/reset',
    answer: ({ reset }) => {
      reset()
      return { success: true }
    },
  },
]
