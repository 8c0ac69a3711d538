import { type ConsentWords, NO_WORDS } from './consent-columns.ts'

export const LIST_PROFILES = ['mailchimp', 'hubspot', 'klaviyo', 'brevo'] as const
export type ProfileName = (typeof LIST_PROFILES)[number]

type Profile = {
  readonly title: string
  readonly signature: readonly string[]
  /** The first existing column becomes the target. */
  readonly columns: readonly (readonly [target: string, ...names: string[]])[]
  readonly all?: readonly (readonly [target: string, ...names: string[]])[]
  /** With this column, addresses bounced, so no opt-in is implied. */
  readonly bounced?: string
  readonly words?: ConsentWords
}

const EMAIL = 'marketing_consent.email'

export const PROFILES: Readonly<Record<ProfileName, Profile>> = {
  mailchimp: {
    title: 'Mailchimp',
    signature: ['Email Address', 'MEMBER_RATING', 'LEID', 'EUID'],
    columns: [
      ['email', 'Email Address'],
      ['phone', 'Phone Number', 'Phone', 'SMS Phone Number'],
      ['first_name', 'First Name', 'FNAME'],
      ['last_name', 'Last Name', 'LNAME'],
      ['tags', 'TAGS'],
      [`${EMAIL}_opted_in_at`, 'CONFIRM_TIME'],
      [`${EMAIL}_ip`, 'CONFIRM_IP'],
      [`${EMAIL}_opted_out_at`, 'UNSUB_TIME'],
    ],
    bounced: 'CLEAN_TIME',
  },
  hubspot: {
    title: 'HubSpot',
    signature: ['Record ID', 'Email'],
    columns: [
      ['email', 'Email'],
      ['phone', 'Phone Number', 'Mobile Phone Number', 'WhatsApp Phone Number'],
      ['first_name', 'First Name'],
      ['last_name', 'Last Name'],
    ],
    all: [
      [
        `${EMAIL}_opted_out`,
        'Unsubscribed from all email',
        'Opted out of all email',
        'Opted out of email: Marketing Information',
      ],
    ],
  },
  klaviyo: {
    title: 'Klaviyo',
    signature: ['Klaviyo ID', 'Email'],
    columns: [
      ['email', 'Email'],
      ['phone', 'Phone Number'],
      ['first_name', 'First Name'],
      ['last_name', 'Last Name'],
      [EMAIL, 'Email Marketing Consent'],
      [`${EMAIL}_at`, 'Email Marketing Consent Timestamp'],
    ],
  },
  brevo: {
    title: 'Brevo',
    signature: ['EMAIL', 'ADDED_TIME', 'MODIFIED_TIME'],
    columns: [
      ['email', 'EMAIL'],
      ['phone', 'WHATSAPP', 'SMS'],
      ['first_name', 'FIRSTNAME', 'PRENOM', 'VORNAME', 'NOMBRE', 'NOME'],
      ['last_name', 'LASTNAME', 'NOM', 'NACHNAME', 'APELLIDOS', 'COGNOME'],
      [EMAIL, 'EMAIL_MARKETING', 'email_marketing'],
    ],
    all: [
      [`${EMAIL}_opted_in`, 'DOUBLE_OPT-IN', 'OPT_IN'],
      [`${EMAIL}_opted_out`, 'EMAIL_BLACKLISTED', 'EMAIL_BLOCKLISTED', 'BLOCKLISTED'],
    ],
    // Categories are numbered from 1.
    words: { yes: [], no: ['2'] },
  },
}

export const profileWords = (profile: ProfileName | null): ConsentWords =>
  (profile && PROFILES[profile].words) ?? NO_WORDS

const same = (one: string, other: string): boolean => one.trim().toLowerCase() === other.toLowerCase()

export const findProfile = (columns: readonly string[]): ProfileName | undefined =>
  LIST_PROFILES.find((name) => PROFILES[name].signature.every((one) => columns.some((column) => same(column, one))))

/** Returns each column's target; null: skipped. */
export function profileTargets(name: ProfileName, columns: readonly string[]): (string | null)[] {
  const { columns: rules, all = [], bounced } = PROFILES[name]
  const places = new Map<number, string>()
  const isBounced = bounced !== undefined && columns.some((column) => same(column, bounced))
  for (const [target, ...names] of rules) {
    if (isBounced && /_opted_in_at$|_ip$/.test(target)) continue
    const place = names.map((one) => columns.findIndex((column) => same(column, one))).find((at) => at !== -1)
    if (place !== undefined) places.set(place, target)
  }
  for (const [target, ...names] of all) {
    for (const [place, column] of columns.entries())
      if (names.some((one) => same(column, one))) places.set(place, target)
  }
  return columns.map((_, place) => places.get(place) ?? null)
}
