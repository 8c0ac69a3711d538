import { describe, expect, test } from 'vitest'
import type { MailReport } from '../../mailers/mailer.ts'
import { decideReport, type ReportedState } from './mail-report.ts'

const SENT: ReportedState = { status: 'sent', isSubmitted: true, hasComplaint: false, suppressedFor: null }
const HARD: MailReport = { kind: 'bounce', isPermanent: true, message: 'No such user' }
const SOFT: MailReport = { kind: 'bounce', isPermanent: false, message: 'Mailbox full' }
const COMPLAINT: MailReport = { kind: 'complaint', message: 'Spam' }
const NOTHING = { status: null, isFirstComplaint: false, suppressFor: null }

describe('a report about a mail', () => {
  test.each<[string, Partial<ReportedState>, MailReport, Partial<typeof NOTHING> | object]>([
    ['a permanent bounce', {}, HARD, { status: 'bounced', suppressFor: 'bounce' }],
    ['a temporary bounce', {}, SOFT, { status: 'bounced' }],
    ['a repeated bounce', { status: 'bounced', suppressedFor: 'bounce' }, HARD, {}],
    ['a permanent bounce after a temporary one', { status: 'bounced' }, HARD, { suppressFor: 'bounce' }],
    ['a bounce of a mail with an unknown outcome', { status: 'failed' }, SOFT, { status: 'bounced' }],
    ['a bounce before the answer of the server is recorded', { status: 'pending' }, SOFT, { status: 'bounced' }],
    ['a bounce of a mail that was never submitted', { status: 'pending', isSubmitted: false }, SOFT, {}],
    ['a bounce after a complaint', { suppressedFor: 'complaint' }, HARD, { status: 'bounced' }],
    ['a complaint', {}, COMPLAINT, { isFirstComplaint: true, suppressFor: 'complaint' }],
    [
      'a complaint about a suppressed address',
      { suppressedFor: 'bounce' },
      COMPLAINT,
      { isFirstComplaint: true, suppressFor: 'complaint' },
    ],
    ['a repeated complaint', { hasComplaint: true, suppressedFor: 'complaint' }, COMPLAINT, {}],
  ])('%s', (_name, state, report, effect) => {
    expect(decideReport({ ...SENT, ...state }, report)).toEqual({ ...NOTHING, ...effect })
  })
})
