export const LIST_ENCODINGS = ['utf-8', 'utf-16le', 'utf-16be', 'windows-1252'] as const
export type ListEncoding = (typeof LIST_ENCODINGS)[number]
type Utf16 = 'utf-16le' | 'utf-16be'

const NOTHING = new Uint8Array(0)
const NO_TEXT = Uint8Array.of(0xff)
const UNITS_AT_ONCE = 8_192
const PROBE_BYTES = 64

/** Maps a label such as `iso-8859-1` to a list encoding. */
export function encodingOf(label: string): ListEncoding | undefined {
  try {
    const { encoding } = new TextDecoder(label)
    return LIST_ENCODINGS.find((one) => one === encoding)
  } catch {
    return undefined
  }
}

export const isUtf16 = (encoding: ListEncoding): encoding is Utf16 => encoding.startsWith('utf-16')

/**
 * Returns the byte order mark's length and encoding. Without a mark, zero bytes beside ASCII characters indicate
 * UTF-16.
 */
export function readMark(start: Uint8Array): { encoding: ListEncoding | undefined; bytes: number } {
  const [first, second, third] = start
  if (first === 0xef && second === 0xbb && third === 0xbf) return { encoding: 'utf-8', bytes: 3 }
  if (first === 0xff && second === 0xfe) return { encoding: 'utf-16le', bytes: 2 }
  if (first === 0xfe && second === 0xff) return { encoding: 'utf-16be', bytes: 2 }
  return { encoding: findUnmarkedUtf16(start), bytes: 0 }
}

function findUnmarkedUtf16(start: Uint8Array): Utf16 | undefined {
  const zeros = [0, 0] as [number, number]
  const probe = start.subarray(0, PROBE_BYTES)
  for (const [place, byte] of probe.entries()) if (byte === 0) zeros[place % 2 === 0 ? 0 : 1] += 1
  const [even, odd] = zeros
  const half = probe.length / 4
  if (odd >= half && odd > 0 && even === 0) return 'utf-16le'
  return even >= half && even > 0 && odd === 0 ? 'utf-16be' : undefined
}

export const MARK_NEEDS_BYTES = PROBE_BYTES

/** Broken surrogates and a trailing half unit become invalid UTF-8, so their row is refused. */
export function createToUtf8(encoding: Utf16): { push(chunk: Uint8Array): Uint8Array; end(): Uint8Array } {
  const encoder = new TextEncoder()
  const low = encoding === 'utf-16le' ? 0 : 1
  let rest: Uint8Array = NOTHING
  const toBytes = (text: string): Uint8Array => {
    if (text.isWellFormed()) return encoder.encode(text)
    const [first = '', ...others] = text.split(/\p{Surrogate}/u)
    const start: Uint8Array = encoder.encode(first)
    return others.reduce((joined, piece) => joinBytes(joinBytes(joined, NO_TEXT), encoder.encode(piece)), start)
  }
  const take = (data: Uint8Array, length: number): Uint8Array => {
    const texts: string[] = []
    for (let at = 0; at < length; at += UNITS_AT_ONCE * 2) {
      const units = new Uint16Array(Math.min(UNITS_AT_ONCE, (length - at) / 2))
      for (let unit = 0; unit < units.length; unit += 1) {
        const place = at + unit * 2
        units[unit] = (data[place + low] ?? 0) | ((data[place + 1 - low] ?? 0) << 8)
      }
      texts.push(String.fromCharCode(...units))
    }
    rest = data.slice(length)
    return toBytes(texts.join(''))
  }
  return {
    push: (chunk) => {
      const data = joinBytes(rest, chunk)
      const whole = data.length - (data.length % 2)
      const last = whole === 0 ? 0 : (data[whole - 2 + (1 - low)] ?? 0)
      return take(data, last >= 0xd8 && last < 0xdc ? whole - 2 : whole)
    },
    end: () => {
      const odd = rest.length % 2
      const text = take(rest, rest.length - odd)
      return odd === 0 ? text : joinBytes(text, NO_TEXT)
    },
  }
}

type Utf8Count = {
  push(chunk: Uint8Array): void
  /** UTF-8, unless invalid bytes outnumber non-ASCII characters. */
  encoding(): 'utf-8' | 'windows-1252'
}

export function createUtf8Count(): Utf8Count {
  let [valid, invalid] = [0, 0]
  /** Missing continuation bytes, and the valid range of the next. */
  let missing = 0
  let [least, most] = [0x80, 0xbf]
  const start = (byte: number): void => {
    ;[least, most] = [0x80, 0xbf]
    if (byte >= 0xc2 && byte <= 0xdf) missing = 1
    else if (byte >= 0xe0 && byte <= 0xef) missing = 2
    else if (byte >= 0xf0 && byte <= 0xf4) missing = 3
    else invalid += 1
    if (byte === 0xe0) least = 0xa0
    else if (byte === 0xed) most = 0x9f
    else if (byte === 0xf0) least = 0x90
    else if (byte === 0xf4) most = 0x8f
  }
  const push = (chunk: Uint8Array): void => {
    const { length } = chunk
    for (let at = 0; at < length; at += 1) {
      if (missing === 0) while (at < length && (chunk[at] ?? 0) < 0x80) at += 1
      if (at === length) return
      const byte = chunk[at] ?? 0
      if (missing === 0) {
        start(byte)
      } else if (byte >= least && byte <= most) {
        missing -= 1
        ;[least, most] = [0x80, 0xbf]
        if (missing === 0) valid += 1
      } else {
        missing = 0
        invalid += 1
        if (byte >= 0x80) start(byte)
      }
    }
  }
  return { push, encoding: () => (invalid + (missing > 0 ? 1 : 0) > valid ? 'windows-1252' : 'utf-8') }
}

const DECODERS = {
  'utf-8': new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }),
  'windows-1252': new TextDecoder('windows-1252'),
}

/** Decodes stored bytes, where UTF-16 is already UTF-8; undefined if invalid. */
export function decodeBytes(bytes: Uint8Array, encoding: ListEncoding): string | undefined {
  try {
    return DECODERS[encoding === 'windows-1252' ? encoding : 'utf-8'].decode(bytes)
  } catch {
    return undefined
  }
}

let windows1252: ReadonlyMap<string, number> | undefined

/** Returns undefined if Windows-1252 lacks a character. */
export function encodeText(text: string, encoding: ListEncoding): Uint8Array | undefined {
  if (encoding === 'utf-8') return new TextEncoder().encode(text)
  if (encoding === 'windows-1252') {
    windows1252 ??= new Map(
      Array.from({ length: 256 }, (_, byte) => [DECODERS['windows-1252'].decode(Uint8Array.of(byte)), byte]),
    )
    const bytes = Array.from(text, (character) => windows1252?.get(character))
    return bytes.includes(undefined) ? undefined : Uint8Array.from(bytes, (byte) => byte ?? 0)
  }
  const low = encoding === 'utf-16le' ? 0 : 1
  const bytes = new Uint8Array(text.length * 2)
  for (let at = 0; at < text.length; at += 1) {
    const unit = text.charCodeAt(at)
    bytes[at * 2 + low] = unit & 0xff
    bytes[at * 2 + 1 - low] = unit >> 8
  }
  return bytes
}

export function joinBytes(one: Uint8Array, other: Uint8Array): Uint8Array {
  if (one.length === 0) return other
  if (other.length === 0) return one
  const joined = new Uint8Array(one.length + other.length)
  joined.set(one)
  joined.set(other, one.length)
  return joined
}
