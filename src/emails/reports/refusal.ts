type MailRefusal = { status?: string | undefined; text: string }

/** Missing, disabled or permanently refusing mailbox or domain. */
const ADDRESS_CODES = ['5.1.1', '5.1.2', '5.1.3', '5.1.6', '5.1.10', '5.2.1', '5.4.4']
/** Sufficient without a code (RFC 7504). */
const ADDRESS_REPLY = /^(?:521|556)\b/

const ENHANCED_CODE = /(?<![\d.])[245]\.\d{1,3}\.\d{1,3}(?!\.?\d)/g

/** Never the address's fault, whatever the code. */
const REPUTATION = /spam|black ?list|block ?list|dnsbl|\brbl\b|barracuda|reputation|quota|mailbox (?:is )?full/i
/** Count only if no code decides. */
const OTHER_REASONS =
  /polic|content|virus|malware|phish|dkim|dmarc|\bspf\b|reverse dns|\bptr\b|rdns|helo|sender|envelope|\bfull\b|too (?:large|big|many|much|long)|exceed|limit|throttl|greylist|temporar|try again|relay|authenticat|resource record|bulk|unsolicited|suspicious|\blisted\b|\bloop\b|storage|\bsize\b/i

const ADDRESS_TEXT = new RegExp(
  [
    'unknown (?:local )?(?:user|recipient|mailbox|address|account)',
    '(?:user|recipient|mailbox|address|account) (?:is )?unknown',
    'no such (?:user|recipient|mailbox|address|account|person|domain|local user)',
    '(?:user|mailbox|recipient|account|address|domain|alias)\\b[^.;:]{0,80}?(?:not found|not exist|no longer exist|unavailable|disabled|inactive|deactivated|suspended|closed|expired|invalid|no longer (?:valid|available|active|in use|on server)|is not (?:valid|known|local|active))',
    "(?:user|recipient|account|mailbox|address) [^.;:]{0,60}?doesn['’]?t exist",
    'invalid (?:recipient|mailbox|address|user|account)',
    'not a (?:valid|known) (?:user|mailbox|recipient|address)',
    'no mailbox (?:here )?by that name',
    "does(?:n['’]?t| not) have an? .{0,40}account",
    'unrout(?:e|)able address',
    'domain does not accept (?:e-?mail|mail)|null ?mx',
    'recipient (?:address )?rejected: (?:access denied|undeliverable)',
    'name service error|host (?:or domain name )?not found',
    'utilisateur inconnu|adresse (?:inconnue|invalide)|existiert nicht|unbekannter? (?:benutzer|empfänger)|inesistente|inexistente|desconocido',
  ].join('|'),
  'i',
)

/**
 * Returns whether a refusal rules out the address (decisions: Mail, Bounces): by code, also in the text, or wording.
 */
export function refusesAddress({ status, text }: MailRefusal): boolean {
  const words = text.replaceAll(/<?[^\s<>]+@[^\s<>]+>?|https?:\S+/g, ' ').trim()
  if (REPUTATION.test(words)) return false
  const code = [...codesIn(status ?? ''), ...codesIn(words)].find(isSpecific)
  if (code !== undefined) return ADDRESS_CODES.includes(code)
  return ADDRESS_REPLY.test(words) || (ADDRESS_TEXT.test(words) && !OTHER_REASONS.test(words))
}

/** Returns 5 for permanent, 4 for temporary, or undefined if unclear. */
export function classOf({ status, text }: MailRefusal): string | undefined {
  const [code] = [...codesIn(status ?? ''), ...codesIn(text)]
  return code?.charAt(0) ?? /(?<![\d.])([45])\d\d[ -]/.exec(text)?.[1]
}

const codesIn = (text: string): string[] => text.match(ENHANCED_CODE) ?? []

const isSpecific = (code: string): boolean => !code.endsWith('.0')
