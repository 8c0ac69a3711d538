/** A report about a mail that a mail server accepted before. */
export type MailReport =
  /** The mail did not arrive, and will not. Permanent: no mail to this address will. */
  | { readonly kind: 'bounce'; readonly isPermanent: boolean; readonly message: string }
  /** The recipient called the mail spam. */
  | { readonly kind: 'complaint'; readonly message: string }

/** Reads what a provider of mail posts: the report and the token of its mail; undefined for everything else. */
export type ReadMailReport = (body: unknown) => { token: string; report: MailReport } | undefined
