import { matchesGlob } from 'node:path'

/** Globs of the project `slow`, which only `npm run test:all` runs: `npm test` takes about three minutes on two cores. */
export const SLOW = [
  // Attacks, faults under load, an upgrade under load, random histories
  'test/{faults/faults,faults/upgrade/upgrade,hostile/quick,model/model}.test.ts',
  // Kills, outages, restarts, first starts
  '**/*{crash,-outage}.test.ts',
  'test/processes/*.test.ts',
  'src/db/embedded/{keep-running,postmaster,start}.test.ts',
  'src/db/migration/migrate-processes.test.ts',
  'src/media/{places/copy-files,blobs/folder-blob-faults}.test.ts',
  'src/queue/known-outcome.test.ts',
  'src/webhooks/deliveries/delivery-order.test.ts',
  'test/contacts/erasure-resumed.test.ts',
  'test/run/interrupted-run.test.ts',
  'src/db/pool/short-lived.test.ts',
  'test/inbound/frozen-worker.test.ts',
  'test/conversations/live-processes.test.ts',
  // Databases of earlier versions, copies, moves
  'src/db/{copy-database,database,migration/beside-others,server/statistics-store}.test.ts',
  'test/schema/{old-objects,schema-rights}.test.ts',
  'test/companies/{fairness,locked-company,move-*}.test.ts',
  // Packages, proxies, commands of docs and examples
  'client/test/{browser,package}.test.ts',
  'sandbox/main.test.ts',
  'src/lazy-packages.test.ts',
  'test/contract/{reference,openapi-lint}.test.ts',
  'test/deploy/{backup,nginx-bounds,package,patroni,proxies,smuggling,*-docs}.test.ts',
  'test/docs/example-*.test.ts',
  'test/contacts/contact-import-command.test.ts',
  'test/providers/verification-code.test.ts',
  // The console in a browser, except JOURNEYS
  'test/console/**/*.test.ts',
  // Peers, storage and databases that fail or hang; floods
  'src/db/{connect,lost-connections,unreachable-server}.test.ts',
  'src/contacts/write/array-locks.test.ts',
  'src/emails/rendering/hostile-templates.test.ts',
  'src/http/{body/body-pace,connections/waiting-answers,server/answers/static-file-flood}.test.ts',
  'src/webhooks/attempts/hostile-receiver.test.ts',
  'test/contacts/many-days.test.ts',
  'test/contract/endless-head.test.ts',
  'test/media/{hanging-peers,storage-faults}.test.ts',
  'test/sends/{file-places,idempotency-faults,two-processes}.test.ts',
  'test/emails/{email-load,email-injection}.test.ts',
  'test/inbound/unhandled.test.ts',
  'src/inbound/handling/{database-faults,hostile-bodies}.test.ts',
  'src/http/{admission/readmission,body/body-budget,server/answers/database-timeout}.test.ts',
  'src/live/stream-routes.test.ts',
  'src/queue/lease.test.ts',
  'src/contacts/write/bulk-pace.test.ts',
  'test/providers/provider-cost.test.ts',
]

/** Exempt from SLOW: one browser journey per console area, and the console tests without a browser. */
export const JOURNEYS = [
  // Sign-in by link and key, operator, keyboard
  'test/console/console.test.ts',
  'test/console/inbox/list.test.ts',
  'test/console/contacts/contact.test.ts',
  'test/console/receivers.test.ts',
  // Operator: failed events
  'test/console/events.test.ts',
  // Without a browser
  'test/console/{assignees,build,roles}.test.ts',
]

/** Returns whether `npm test` leaves out a test file. */
export function isSlow(file: string): boolean {
  const isIn = (globs: readonly string[]) => globs.some((glob) => matchesGlob(file, glob))
  return isIn(SLOW) && !isIn(JOURNEYS)
}
