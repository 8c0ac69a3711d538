/** What is wrong with an address whose password has a `#` as it is: everything after it would be no part of the address. */
export const RAW_HASH = 'has a # before its host: write %23 for a # in a user name or password'

/** Whether an address has a `#` before the `@` of its host. */
export const hasRawHash = (address: string): boolean => /^[a-z][a-z0-9+.-]*:\/\/[^/?]*#.*@/i.test(address)
