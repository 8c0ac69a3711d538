/** Lists every advisory lock namespace for `advisory_key(namespace, key)`. All locks end with their transaction. */
export const ADVISORY_LOCKS: Readonly<Record<string, string>> = {
  customer:
    'An identity of a company. Key: company:identity. Held by each transaction that creates, moves or retires it, or decides to which contact it belongs: inbound batches, sends, writes of contacts.',
  'customer id':
    'A customer of a company. Key: company:id. Held, after the lock above, by each transaction that changes its identities, conversations or messages.',
  'contact batch':
    'The one large batch of a company and lane that is written at a time. Key: company:lane. Held by writes of more than 25 contacts.',
  'contact batch place':
    'One of the places for large batches, as many as the lock table of the server has room for. Key: the number of the place. Held with the lock above.',
  'waiting import': "The number of a company's queued imports. Key: company. Held by the request that adds one.",
  redeliveries:
    'The redeliveries of ranges of a company. Key: company. Held by the request that counts a range and adds one.',
  registrations: "The number of a company's webhook registrations. Key: company. Held by the request that adds one.",
  templates:
    'The templates of a business account. Key: company:account. Held by the synchronisation with the provider.',
  'delivery days':
    'The partitions of deliveries. Key: empty. Held by the transaction that creates those of the next days.',
  'message months': 'The partitions of messages. Key: empty. Held by the transaction that creates one.',
  statistics: 'The statistics of grown tables. Key: empty. Held by the transaction that gathers them.',
  'moving company': 'The import of a company from another installation. Key: company. Held by the import.',
  cell: 'The range of company ids of the database. Key: empty. Held by the start that assigns it.',
  'event lane': 'The waiting events of a lane. Key: the lane. Held by the worker that handles them.',
}

/** Held by the process that changes the schema. A number, because the first migration creates `advisory_key`. */
export const MIGRATE_LOCK = 7_237_455_201
/** Seed for claim locks, one per job kind, held by the claiming worker. */
export const CLAIM_LOCK_SEED = 7_237_455_202
