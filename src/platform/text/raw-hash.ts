/** Everything after a raw `#` in a password would be cut off. */
export const RAW_HASH = 'has a # before its host: write %23 for a # in a user name or password'

export const hasRawHash = (address: string): boolean => /^[a-z][a-z0-9+.-]*:\/\/[^/?]*#.*@/i.test(address)
