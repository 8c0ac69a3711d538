import { memberOf } from '../../platform/text/own-member.ts'

/**
 * Asks a mail server whether it offers SMTPUTF8, in a session of its own: the library sends such mails without the extension,
 * and what becomes of them is chance. Rejects when the server cannot be reached.
 */
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
    // After STARTTLS, where there is one: the server is asked again then.
    const extensions: unknown = memberOf(connection, '_supportedExtensions')
    return Array.isArray(extensions) && extensions.includes('SMTPUTF8')
  } finally {
    connection.quit()
    connection.close()
  }
}
