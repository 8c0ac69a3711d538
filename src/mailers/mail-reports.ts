/** A later report about a mail that its server had accepted. */
export type MailReport =
  | { readonly kind: 'bounce'; readonly isPermanent: boolean; readonly message: string }
  | { readonly kind: 'complaint'; readonly message: string }

/** Reads a provider webhook into a report and its mail's token; returns undefined for everything else. */
export type ReadMailReport = (body: unknown) => { token: string; report: MailReport } | undefined
