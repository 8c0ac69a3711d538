/**
 * `replacements` has three numbers per address, in HTML order, separated by spaces: characters since the previous end,
 * characters replaced, and link number (from 1; 0 is the open pixel). Compact, as a long mail has 20,000, which cross
 * two threads and the database.
 */
export type Tracking = { readonly replacements: string; readonly targets: readonly string[] }

export const UNTRACKED: Tracking = { replacements: '', targets: [] }
