import { count, number } from './format.ts'

/** The texts of the operator's events, in English. They are loaded with the screen. */
export const eventText = {
  title: 'Events',
  intro: 'Inbound events that Parley could not process. They are kept for 30 days.',
  lists: 'List',
  failed: 'Failed',
  unroutable: 'Unroutable',
  reason: 'Reason',
  numberFilter: 'Number',
  source: 'Number or account',
  age: 'Received',
  state: 'State',
  states: { unroutable: 'Not connected', unverified: 'Unverified' } as Record<string, string>,
  retry: 'Retry',
  retryOne: (id: number) => `Retry event ${id}`,
  retryAll: (listed: number, isMore: boolean) =>
    listed === 0
      ? 'Retry all'
      : isMore
        ? `Retry ${number(listed)}+ events`
        : `Retry ${count(listed, 'event', 'events')}`,
  retried: {
    failed: (events: number) =>
      events === 0
        ? 'There were no events to retry.'
        : `Retrying ${count(events, 'event', 'events')}. Events that fail again return to the list.`,
    unroutable: (events: number) =>
      events === 0
        ? 'Nothing retried: the numbers of these events are not connected.'
        : `Retrying ${count(events, 'event', 'events')}. The others wait until their number is connected.`,
  },
  noFailed: 'No failed events',
  noFailedText: 'Events that cannot be read or processed appear here.',
  noUnroutable: 'No unroutable events',
  noUnroutableText:
    'Events for numbers that are not connected appear here. Parley processes them once the number is connected.',
  noMatch: 'No events match',
}
