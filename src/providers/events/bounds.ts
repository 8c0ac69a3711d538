/** Bounds of one posted body (decisions: Provider webhook; docs/security.md lists the answers). */

/** Items of one body. */
export const ITEM_LIMIT = 5_000
/** Levels of one body, the outermost object included. */
export const NESTING_LIMIT = 64

/** Characters of a sender's, an account's, an app's or a template's id. */
export const ID_LIMIT = 128
/** Characters of a message's id, and of a media file's. */
export const WAMID_LIMIT = 512
/** Characters of a message's text or caption; the rest is only in `raw`. */
export const TEXT_LIMIT = 65_536
/** Characters of every other string, such as a file name or an error's title. */
export const WORD_LIMIT = 1_024
/** Characters of a profile name. */
export const NAME_LIMIT = 256

/** An item is beyond one of the bounds, which the message names. */
export class BeyondBounds extends Error {}
