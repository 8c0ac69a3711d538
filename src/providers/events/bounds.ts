/** Limits per posted body (decisions: Provider webhook; docs/security.md lists the responses). */

export const ITEM_LIMIT = 5_000
export const NESTING_LIMIT = 64

export const ID_LIMIT = 128
export const WAMID_LIMIT = 512
/** Message text and captions; the rest is only in `raw`. */
export const TEXT_LIMIT = 65_536
/** All other strings, such as file names and error titles. */
export const WORD_LIMIT = 1_024
export const NAME_LIMIT = 256

export class BeyondBounds extends Error {}
