import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { RUN_VARIABLE } from '../run/clean-run.ts'
import type { Operation } from './operation.ts'
import type { Counter } from './tally.ts'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
const NEEDED = ['bin', 'src', 'sandbox', 'migrations', 'package.json']

/** A change of the service's source that raises a counter: the text that is replaced wherever it stands in the file. */
export type Fault = { raises: Counter; file: string; text: string; replacement: string }

/** One for each counter; `routes not covered` is raised by UNCOVERED. */
export const FAULTS: readonly Fault[] = [
  {
    raises: 'answers with status 5xx',
    file: 'src/http/body/input.ts',
    text: "throw badRequest('The body is not valid JSON')",
    replacement: "throw new Error('planted')",
  },
  {
    raises: 'answers not described',
    file: 'src/platform/errors.ts',
    text: 'const missing = (message: string) => new AppError(404,',
    replacement: 'const missing = (message: string) => new AppError(418,',
  },
  {
    raises: 'leaks',
    file: 'src/http/server/health-routes.ts',
    text: " && isUnrebindableHost(own, headers.host ?? '')",
    replacement: '',
  },
  {
    // Without the company, a foreign id finds the neighbour's registration.
    raises: 'answers that differ for foreign ids',
    file: 'src/webhooks/registrations/registration-store.ts',
    text: `where company_id = ${'$'}{companyId} and id = ${'$'}{id} and deleted_at is null`,
    replacement: `where id = ${'$'}{id} and deleted_at is null`,
  },
  {
    raises: 'malformed HTTP without a proper answer',
    file: 'src/http/server/listener.ts',
    text: "'Content-Type: application/json; charset=utf-8'",
    replacement: "'Content-Type: text/plain'",
  },
  {
    // Together with the next two: alone, another transaction handles the other company's message meanwhile.
    raises: 'others delayed by a hostile body',
    file: 'src/inbound/handling/handle-events.ts',
    text: 'items: 200 }',
    replacement: 'items: 2_000 }',
  },
  {
    raises: 'others delayed by a hostile body',
    file: 'src/inbound/handling/handle-events.ts',
    text: 'const ITEMS_OF_EVENT = 50',
    replacement: 'const ITEMS_OF_EVENT = 2_000',
  },
  {
    raises: 'others delayed by a hostile body',
    file: 'src/inbound/handling/inbound-worker.ts',
    text: 'const CONCURRENT = 3',
    replacement: 'const CONCURRENT = 1',
  },
  {
    raises: 'log lines or rows beyond the bound',
    file: 'src/wiring/workers.ts',
    text: "deps.log.warn(describeUnhandled(unhandled), 'inbound.unhandled')",
    replacement: "unhandled.forEach(({ reason }) => deps.log.warn({ reason }, 'inbound.unhandled'))",
  },
  {
    raises: 'memory beyond the bound',
    file: 'src/http/server/server.ts',
    text: 'checkProtocol(request.raw)',
    replacement:
      'checkProtocol(request.raw, (globalThis.kept ??= []).length < 1_500 && kept.push(Buffer.alloc(600_000, 1)))',
  },
  {
    raises: 'connections without an answer',
    file: 'src/http/server/server.ts',
    text: 'checkContentEncoding(request.raw)',
    replacement: "request.headers['content-encoding'] ? request.raw.socket.destroy() : undefined",
  },
  {
    raises: 'healthy calls refused',
    file: 'src/http/connections/connection-bounds.ts',
    text: 'connections.end(ended ?? newcomer)',
    replacement: 'connections.end(newcomer)',
  },
  {
    raises: 'healthy calls refused',
    file: 'src/http/body/body-budget.ts',
    text: 'if (makeRoom(body, candidates())) continue',
    replacement: '',
  },
  {
    raises: 'proven events refused',
    file: 'src/inbound/ingest/inbound-routes.ts',
    text: "if (verdict !== 'proven') await refuseSpent(address)",
    replacement: 'await refuseSpent(address)',
  },
  {
    raises: 'processor time beyond the bound',
    file: 'src/inbound/ingest/admission.ts',
    text: 'const found = await events.findIds(body)',
    // The bodies of the attack are JSON; those of others, which may be none, are shorter.
    replacement:
      'for (let n = 0; n < 5 && body.length > 1_000_000 && body[0] === 123; n += 1) JSON.parse(String(body))\nconst found = await events.findIds(body)',
  },
  {
    raises: 'answers to other sites',
    file: 'src/http/admission/admit-session.ts',
    text: 'if (!isHostOf(own, host)) throw',
    replacement: 'if (false) throw',
  },
  {
    raises: 'routes open to a wrong role',
    file: 'src/http/admission/role.ts',
    text: "if (role === 'admin' || roles.includes(role)) return",
    replacement: 'return',
  },
  {
    raises: 'rights beyond a browser key',
    file: 'src/contacts/write/browser-write.ts',
    text: 'const isProven = provenIdentities(write, proven).some((identity) => own.includes(identity))',
    replacement: 'const isProven = own.length > 0',
  },
  {
    // The company is counted before the key is refused.
    raises: 'limits spent by a browser key',
    file: 'src/http/admission/admit.ts',
    text: 'refuseOver(reply, ofKey, refusal)',
    replacement: '',
  },
  {
    raises: 'archives that reach other companies',
    file: 'src/moves/move-store.ts',
    text: `jsonb_build_object('${'$'}{key}', $2::bigint)`,
    replacement: "jsonb_build_object('ignored', $2::bigint)",
  },
  {
    // Together with the next one, so that a slow machine is beyond the pace, too.
    raises: 'large work beyond its pace',
    file: 'src/contacts/write/contact-change.ts',
    text: 'ROWS_PER_SECOND = 1_500',
    replacement: 'ROWS_PER_SECOND = 100',
  },
  {
    raises: 'large work beyond its pace',
    file: 'src/contacts/write/contact-change.ts',
    text: 'if (isAlone(companyId)) return',
    replacement: 'return',
  },
  {
    raises: 'bytes or rows kept beyond the bound',
    file: 'src/http/admission/admit.ts',
    text: 'if (isOver) throw',
    replacement: 'if (false) throw',
  },
  {
    raises: 'bytes or rows kept beyond the bound',
    file: 'src/emails/sql/count-email-fetches.sql',
    text: '<= 1000',
    replacement: '<= 100000',
  },
  {
    raises: 'sessions beyond the bound',
    file: 'src/sessions/session.ts',
    text: 'MOST_SESSIONS_OF_KEY = 5',
    replacement: 'MOST_SESSIONS_OF_KEY = 50',
  },
  {
    raises: 'answers to other sites',
    file: 'src/sessions/session-cookie.ts',
    text: 'if (sent.length > 1)',
    replacement: 'if (sent.length > 2)',
  },
  {
    raises: 'registrations beyond the bound',
    file: 'src/webhooks/registrations/registration.ts',
    text: 'if (count < limit) return',
    replacement: 'if (count < limit + 1) return',
  },
  {
    raises: 'attempts beyond the share of a company',
    file: 'src/webhooks/attempts/receivers.ts',
    text: 'const FAILING_HEAT = 10',
    replacement: 'const FAILING_HEAT = 1_000',
  },
  {
    raises: 'backlogs beyond the bound',
    file: 'src/webhooks/registrations/backlog.ts',
    text: 'if (totalOf(backlogs) <= most) return []',
    replacement: 'return []',
  },
  {
    raises: 'redeliveries beyond the first',
    file: 'src/webhooks/deliveries/redelivery/redelivery.ts',
    text: 'if (unclaimed > 0) {',
    replacement: 'if (found > 0) {',
  },
  {
    raises: 'requests read beyond the bound',
    file: 'src/http/connections/connections.ts',
    text: 'MOST_UNANSWERED = 8',
    replacement: 'MOST_UNANSWERED = 100_000',
  },
  {
    raises: 'connections beyond the share of an address',
    file: 'src/http/connections/connection-bounds.ts',
    text: 'if (holders.isBeyond(connection, maxOfAddress)) {',
    replacement: 'if (false) {',
  },
  {
    raises: 'unread answers never closed',
    file: 'src/http/connections/waiting-answers.ts',
    text: 'if (isSlow) connections.end(wait.connection)',
    replacement: 'if (false) connections.end(wait.connection)',
  },
  {
    // Paced lists would stay within the budget.
    raises: 'waiting answers beyond the budget',
    file: 'src/http/server/answers/answers.ts',
    text: 'if (!isAlone(owner)) return',
    replacement: 'if (owner < 0) return',
  },
  {
    raises: 'waiting answers beyond the budget',
    file: 'src/http/server/answers/answers.ts',
    text: 'const release = holdSlot(owner)',
    replacement: 'const release = () => {}',
  },
  {
    raises: 'waiting answers beyond the budget',
    file: 'src/http/connections/waiting-answers.ts',
    text: 'if (total <= limit) return []',
    replacement: 'return []',
  },
  {
    // A download keeps its file open.
    raises: 'open files beyond the bound',
    file: 'src/media/blobs/folder-blob-store.ts',
    text: 'open: (key, range) => openFile(pathOf(folder, key), range)',
    replacement:
      "open: (key, range) => (open(pathOf(folder, key), 'r').then((file) => setTimeout(() => file.close(), 5_000), () => {}), openFile(pathOf(folder, key), range))",
  },
  {
    raises: 'metrics computed beyond their rate',
    file: 'src/platform/telemetry/metrics.ts',
    text: 'METRICS_SPACING_MS = 1_000',
    replacement: 'METRICS_SPACING_MS = 0',
  },
]

/** Large unproven bodies are read as they come: forged ones delay the calls of others. */
export const UNPACED: Pick<Fault, 'file' | 'text' | 'replacement'> = {
  file: 'src/fair/fair-pace.ts',
  text: 'if (room < cost) return false',
  replacement: '',
}

/** An operation that no attack knows the ids of. Keys of browsers may call it, so that it raises no other counter. */
export const UNCOVERED: Operation = {
  name: 'GET /public/v1/unknown-things/{thingId}',
  method: 'get',
  path: '/public/v1/unknown-things/{thingId}',
  parameters: [],
  bodies: {},
  credential: 'apiKey',
  permissions: ['ContactsUpsert'],
}

/** A copy of this checkout with these faults, to show that the run notices them. */
export function copyWith(faults: readonly Pick<Fault, 'file' | 'text' | 'replacement'>[]): {
  root: string
  remove: () => void
} {
  const root = mkdtempSync(join(process.env[RUN_VARIABLE] || tmpdir(), 'parley-control-'))
  for (const name of NEEDED) cpSync(join(ROOT, name), join(root, name), { recursive: true })
  symlinkSync(join(ROOT, 'node_modules'), join(root, 'node_modules'))
  for (const { file, text, replacement } of faults) {
    const source = readFileSync(join(root, file), 'utf8')
    if (!source.includes(text)) throw new Error(`${file} has no "${text}"`)
    writeFileSync(join(root, file), source.replaceAll(text, replacement))
  }
  return { root: `${root}/`, remove: () => rmSync(root, { recursive: true, force: true }) }
}
