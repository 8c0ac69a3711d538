import { memberOf } from '../../platform/text/json-text.ts'

/** Checks in a separate session: Nodemailer sends without SMTPUTF8. Rejects if the server can't be reached. */
export async function offersSmtpUtf8(serverUrl: string, timeoutMs: number): Promise<boolean> {
  const [{ default: SMTPConnection }, { parseConnectionUrl }] = await Promise.all([
    import('nodemailer/lib/smtp-connection'),
    import('nodemailer/lib/shared'),
  ])
  const limits = { connectionTimeout: timeoutMs, greetingTimeout: timeoutMs, socketTimeout: timeoutMs }
  const connection = new SMTPConnection({ ...parseConnectionUrl(serverUrl), ...limits })
  try {
    await new Promise<void>((resolve, reject) => {
      connection.once('error', reject)
      connection.connect((error) => (error ? reject(error) : resolve()))
    })
    // The EHLO reply after STARTTLS, if any.
    const extensions: unknown = memberOf(connection, '_supportedExtensions')
    return Array.isArray(extensions) && extensions.includes('SMTPUTF8')
  } finally {
    connection.quit()
    connection.close()
  }
}
