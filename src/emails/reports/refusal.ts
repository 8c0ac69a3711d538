/** A permanent refusal: the status code of a report (RFC 3463), if it has one, and the words of the mail server. */
export type MailRefusal = { status?: string | undefined; text: string }

/** Status codes that say that mailbox or domain do not exist, are disabled, or refuse mail for good. */
const ADDRESS_CODES = ['5.1.1', '5.1.2', '5.1.3', '5.1.6', '5.1.10', '5.2.1', '5.4.4']
/** Replies that say so by themselves (RFC 7504). */
const ADDRESS_REPLY = /^(?:521|556)\b/

/** Not part of an IP address or a version. */
const ENHANCED_CODE = /(?<![\d.])[245]\.\d{1,3}\.\d{1,3}(?!\.?\d)/g

/** Reasons that leave the address alone, whatever code stands beside them. */
const REPUTATION = /spam|black ?list|block ?list|dnsbl|\brbl\b|barracuda|reputation|quota|mailbox (?:is )?full/i
/** Further ones, where no code decides. */
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
 * Whether a permanent refusal is about its address for good (decisions: Mail, Bounces), so that no marketing should go there again. A
 * specific status code decides, else one in the text, else the reply code with the text. What stays undecided does not.
 */
export function refusesAddress({ status, text }: MailRefusal): boolean {
  const words = text.replaceAll(/<?[^\s<>]+@[^\s<>]+>?|https?:\S+/g, ' ').trim()
  if (REPUTATION.test(words)) return false
  const code = [...codesIn(status ?? ''), ...codesIn(words)].find(isSpecific)
  if (code !== undefined) return ADDRESS_CODES.includes(code)
  return ADDRESS_REPLY.test(words) || (ADDRESS_TEXT.test(words) && !OTHER_REASONS.test(words))
}

/** The class of a refusal: 5 is permanent, 4 temporary; undefined when neither code nor reply says. */
export function classOf({ status, text }: MailRefusal): string | undefined {
  const [code] = [...codesIn(status ?? ''), ...codesIn(text)]
  return code?.charAt(0) ?? /(?<![\d.])([45])\d\d[ -]/.exec(text)?.[1]
}

export const codesIn = (text: string): string[] => text.match(ENHANCED_CODE) ?? []

/** x.y.0 is a subject without a detail. */
const isSpecific = (code: string): boolean => !code.endsWith('.0')
