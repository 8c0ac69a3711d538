/**
 * Where the tracked addresses of a mail go, and where its links lead, by number from 1. `replacements` has three numbers for each
 * address, in the order of the HTML, with spaces between them: the characters from the end of the one before, the characters that
 * it replaces, and the number of its target; 0 is the open pixel. A short text, since a long mail has 20,000 of them, and they pass
 * through a thread, the database and a thread.
 */
export type Tracking = { readonly replacements: string; readonly targets: readonly string[] }

export const UNTRACKED: Tracking = { replacements: '', targets: [] }
